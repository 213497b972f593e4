"""Programs for the kernels, made from the columns of a schema.

A program is rows of integers: see `kernels.operations`. Types that are too deep for columns are
read by subroutines, one for each record, so types may form a circle.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.avro.column_tree import KEY, Columns, Node, checked_digits
from seglake.value_codec.avro.schema_types import AvroType, Kind, Logical
from seglake.value_codec.kernels import operations as op

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 0001 to 9999, from 1970-01-01
_FIRST_MS, _LAST_MS = _FIRST_DAY * 86_400_000, (_LAST_DAY + 1) * 86_400_000 - 1
_WITHIN = {
    Logical.DATE: (_FIRST_DAY, _LAST_DAY),
    Logical.TIMESTAMP_MILLIS: (_FIRST_MS, _LAST_MS),
    Logical.TIMESTAMP_MICROS: (_FIRST_MS * 1000, _LAST_MS * 1000 + 999),
}
_SCALARS = {
    Kind.BOOLEAN: (op.BOOLEAN, 0, 0),
    Kind.INT: (op.INT, -(1 << 31), (1 << 31) - 1),
    Kind.LONG: (op.LONG, -(1 << 63), (1 << 63) - 1),
    Kind.FLOAT: (op.WORD, 4, 0),
    Kind.DOUBLE: (op.WORD, 8, 0),
    Kind.STRING: (op.STRING, 0, 0),
}
_NOWHERE = -1, 0, -1


class Program(NamedTuple):
    """A program.

    Attributes:
        code: rows of an operation, its arguments, and where its value is stored.
        targets: for each branch of a union, the row to jump to, and the number of the validity
            bytes that it sets (-1 for none).
    """

    code: NDArray[np.int64]
    targets: NDArray[np.int64]

    def without_places(self) -> "Program":
        """Return the program that stores nothing; it still counts the items of lists."""
        found = Program(self.code.copy(), self.targets.copy())
        found.code[:, op.SLOT] = found.targets[:, 1] = -1
        return found


def program_of(columns: Columns, *, is_raw_bytes: bool) -> Program:
    """Return the program that reads one value of a schema.

    Args:
        columns: the columns of the writer's schema.
        is_raw_bytes: a value of a schema that is just `bytes` has no length before the bytes, as
            Confluent's serializers write it.
    """
    assembler, top = _Assembler(), columns.top
    if is_raw_bytes and top.of.kind is Kind.BYTES and top.union is None:
        assembler.add(op.RAW, 0, checked_digits(top.of), *_place(top))
    else:
        assembler.node(top)
    assembler.add(op.END)
    while assembler.due:
        record = assembler.due.pop()
        assembler.starts[id(record)] = len(assembler.code)
        for each in record.fields:
            assembler.cut(each.type)
        assembler.add(op.RETURN)
    for row, record in assembler.calls:
        assembler.code[row][1] = assembler.starts[id(record)]
    code = np.array(assembler.code, np.int64).reshape(-1, op.WIDTH)
    return Program(code, np.array(assembler.targets, np.int64).reshape(-1, 2))


@dataclass(slots=True)
class _Assembler:
    """Program that is being assembled.

    Attributes:
        starts: row of each subroutine, by the identity of its record.
        due: records whose subroutines are not written yet.
        calls: rows that call a subroutine.
    """

    code: list[list[int]] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)
    due: list[AvroType] = field(default_factory=list)
    calls: list[tuple[int, AvroType]] = field(default_factory=list)

    def add(self, operation: int, first: int = 0, second: int = 0, *place: int) -> int:
        """Add a row to the program, and return the row's number."""
        self.code.append([operation, first, second, *(place or _NOWHERE)])
        return len(self.code) - 1

    def node(self, node: Node) -> None:
        """Add the rows that read a value and store it in a column."""
        if node.union is not None:
            self._union(node.union, (node,))
        else:
            self._inner(node)

    def _inner(self, node: Node) -> None:
        """Add the rows that read and store a value of a type, or of a branch of a union."""
        match node.of.kind:
            case _ if node.is_json:
                self.add(op.BEGIN, 0, 0, *_place(node))
                self.cut(node.of)
                self.add(op.FINISH, 0, 0, *_place(node))
            case _ if node.of.is_empty:
                pass
            case Kind.RECORD:
                for each in node.children:
                    self.node(each)
            case Kind.UNION:
                self._union(node.of, node.children)
            case Kind.ARRAY | Kind.MAP:
                self._blocks(node.of, node)
            case _:
                self._scalar(node.of, _place(node))

    def cut(self, of: AvroType) -> None:
        """Add the rows that read a value without storing it: its type is cut from the columns."""
        match of.kind:
            case _ if of.is_empty:
                pass
            case Kind.RECORD:
                if id(of) not in self.starts:
                    self.starts[id(of)] = -1
                    self.due.append(of)
                self.calls.append((self.add(op.CALL), of))
            case Kind.UNION:
                self._union(of, None)
            case Kind.ARRAY | Kind.MAP:
                self._blocks(of, None)
            case _:
                self._scalar(of, _NOWHERE)

    def _scalar(self, of: AvroType, place: tuple[int, ...]) -> None:
        """Add the row that reads a value which contains no other values."""
        match of.kind:
            case Kind.ENUM:
                operation = op.ENUM, len(of.symbols), 0
            case Kind.FIXED:
                operation = op.FIXED, of.size, checked_digits(of)
            case Kind.BYTES:
                operation = op.BYTES, 0, checked_digits(of)
            case _:
                operation = _SCALARS[of.kind]
        if of.logical in _WITHIN:
            operation = operation[0], *_WITHIN[of.logical]
        self.add(*operation, *place)

    def _union(self, of: AvroType, members: tuple[Node, ...] | None) -> None:
        """Add the rows of a union: each branch ends with a jump over later branches.

        Args:
            of: the union.
            members: nodes of the branches that are not null; None if nothing is stored.
        """
        first = len(self.targets)
        self.targets += [[0, -1] for _ in of.branches]
        level = members[0].level if members else 0
        self.add(op.UNION, len(of.branches), first, -1, level, -1)
        jumps, left = [], list(members or ())
        for index, branch in enumerate(of.branches):
            self.targets[first + index][0] = len(self.code)
            if branch.kind is not Kind.NULL and members is not None:
                member = left.pop(0)
                self.targets[first + index][1] = member.flags
                self._inner(member)
            else:
                self.cut(branch)
            jumps.append(self.add(op.JUMP))
        for row in jumps:
            self.code[row][1] = len(self.code)

    def _blocks(self, of: AvroType, node: Node | None) -> None:
        """Add the rows that read the blocks of an array or a map."""
        [item] = of.branches
        is_empty = of.kind is Kind.ARRAY and item.is_empty
        place = _place(node) if node else _NOWHERE
        begin = self.add(op.BLOCKS, 0, int(is_empty), *place)
        if of.kind is Kind.MAP:
            self._scalar(KEY, _place(node.children[0]) if node else _NOWHERE)
        if not is_empty:
            if node:
                self.node(node.children[-1])
            else:
                self.cut(item)
            self.add(op.NEXT, begin + 1, 0, *place)
        self.code[begin][1] = len(self.code)


def _place(node: Node) -> tuple[int, int, int]:
    """Return slot, level and item level of a node, where its values are stored."""
    return node.slot, node.level, node.item_level
