"""Operations of a program, and outcomes of the kernels that run it.

A program is a compiled schema: the instructions to read one value. A row of a program is an
operation, two arguments, and where the value is stored: the slot (-1 for nowhere), the level whose
entries the slot has, and for lists the level of their items.

| operation | arguments | reads |
| --- | --- | --- |
| END, RETURN | | the end of the value, of a subroutine |
| CALL | first row | a subroutine |
| JUMP | row | |
| BOOLEAN | | a value |
| INT, LONG | least, greatest | a number of a logical type, or any |
| BYTES, STRING | 0, digits | bytes behind their number |
| FIXED | bytes, digits | bytes of a known number |
| WORD | bytes | a little-endian number |
| RAW | 0, digits | all bytes that are left |
| ENUM | symbols | an index |
| UNION | branches, first of `targets` | a branch, and jumps to it |
| BLOCKS | row after the loop, 1 if items have no bytes | the blocks of an array or a map |
| NEXT | first row of the item | the end of an item |
| BEGIN, FINISH | | nothing: between them are the bytes of a text |

Bytes with digits are a decimal of at most so many; with 0 digits they are only bytes.
"""

from typing import Any, NamedTuple

WIDTH = 6
"""Number of integers in a row of a program."""

SLOT, LEVEL, ITEM_LEVEL = 3, 4, 5
"""Indexes, in a row of a program, of its slot and its levels."""

END, RETURN, CALL, JUMP, UNION, BLOCKS, NEXT, BEGIN, FINISH = range(9)
BOOLEAN, INT, LONG, ENUM, BYTES, STRING, FIXED, RAW, WORD = range(9, 18)

(
    OK,
    SHORT,
    TRAILING_BYTES,
    BAD_VARINT,
    BAD_BOOLEAN,
    BAD_UTF8,
    BAD_ENUM,
    BAD_UNION_BRANCH,
    DEPTH,
    TOO_LARGE,
    DECIMAL_OVERFLOW,
    TIMESTAMP_RANGE,
    NO_ROOM,
) = range(13)
"""Outcomes of a value; after a decimal or a timestamp out of range, its bytes are well-formed."""

DEEPEST = 512
"""Most subroutines and loops that may be open at once."""

MOST_EMPTY_ITEMS = 1024
"""Number of items without bytes that a value may have, besides one for each of its bytes."""


class Run(NamedTuple):
    """A program, and the arrays that it reads and writes.

    Attributes:
        code, targets: as in `Program`.
        data: bytes of all values.
        powers: the upper and the lower 64 bits of 10 ** digits, for each number of digits up to 38.
        stack: room for DEEPEST numbers: rows to return to, and items that are left.
        columns: `StoredColumns`, all zero; the entries of faulty values stay zero.
    """

    # Any: numba compiles for the types of the arguments.
    code: Any
    targets: Any
    data: Any
    powers: Any
    stack: Any
    columns: Any
