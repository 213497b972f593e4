"""Operations of a program, and outcomes of the kernels that run it.

A program is a compiled schema: the instructions to read one value. A row of a program is an
operation, two arguments, and where the value is stored: the slot (-1 for nowhere), the level whose
entries the slot has, and for lists the level of their items.

| operation | arguments | reads |
| --- | --- | --- |
| END, RETURN | | the end of the value, of a subroutine |
| CALL | first row | a subroutine |
| JUMP | row | |
| BOOLEAN, INT, LONG, BYTES, STRING | | a value |
| INT_WITHIN, LONG_WITHIN | least, greatest | a number of a logical type |
| FLOAT, DOUBLE, FIXED | bytes | bytes of a known number |
| DECIMAL | digits | a number in bytes, of at most so many digits |
| FIXED_DECIMAL | bytes, digits | a number in a fixed, of at most so many digits |
| ENUM | symbols | an index |
| UNION | branches, first of `targets` | a branch, and jumps to it |
| BLOCKS | row after the loop, 1 if items have no bytes | the blocks of an array or a map |
| NEXT | first row of the item | the end of an item |
| RAW | digits, or 0 | all bytes that are left |
| BEGIN, FINISH | | nothing: between them are the bytes of a text |
"""

WIDTH = 6
"""Number of integers in a row of a program."""

SLOT, LEVEL, ITEM_LEVEL = 3, 4, 5
"""Indexes, in a row of a program, of its slot and its levels."""

(
    END,
    RETURN,
    CALL,
    JUMP,
    BOOLEAN,
    INT,
    LONG,
    BYTES,
    STRING,
    INT_WITHIN,
    LONG_WITHIN,
    FIXED,
    DECIMAL,
    FIXED_DECIMAL,
    ENUM,
    UNION,
    BLOCKS,
    NEXT,
    RAW,
    FLOAT,
    DOUBLE,
    BEGIN,
    FINISH,
) = range(23)

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
