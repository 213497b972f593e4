"""Decoded keys or values of records: columns, and reject reasons."""

from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.decoded import MOST_BYTES, UNKNOWN_POSITION, TooManyItemsError
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.schema_groups import GroupContext, SchemaGroup, schema_groups
from seglake.value_codec.reject_reasons import UNKNOWN_SCHEMA, RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse
from seglake.value_decoding.record_parts import part_of
from seglake.value_decoding.row_pieces import RowPieces
from seglake.value_decoding.typings import Typing

NO_TABLE = -1


class UnforeseenSchemaError(Exception):
    """Error for a value whose schema the plan for its topic does not have."""


class PartTyping(NamedTuple):
    """Columns of a topic's keys or values, by table.

    Attributes:
        part: "key" or "value".
        form: form of all keys or values.
        id_subject: subject of the topic's keys or values, which tells the context of schema ids.
        typings: the columns of each table.
        plain: reader for JSON without a schema, and for JSON of schemas without columns.
        subject: subject of the schema of values without a frame; "" for other forms.
        foreseen: the schemas that values may name, if they were not surveyed; else None.
    """

    part: str
    form: Form
    id_subject: str
    typings: tuple[Typing, ...]
    plain: SchemaUse = TEXT_USE
    subject: str = ""
    foreseen: frozenset[str] | None = None

    def table_of(self, name: str) -> int:
        """Return the index of the table for values of a schema; NO_TABLE if there is none."""
        has = (index for index, typing in enumerate(self.typings) if name in typing.numbers)
        return next(has, NO_TABLE)

    def is_unforeseen(self, group: SchemaGroup) -> bool:
        """Return whether values name a schema of the registry that the plan does not have."""
        if self.foreseen is None or not group.name or group.use.problem in UNKNOWN_SCHEMA:
            return False
        return group.key not in self.foreseen


class DecodedPart(NamedTuple):
    """Keys or values of some records, one entry for each record.

    Attributes:
        is_null: whether there is no key or value.
        tables: index of the table; NO_TABLE if the key or value does not decode or is null.
        reasons: the `code` of a RejectReason; 0 if the key or value decodes or is null.
        positions: first byte that could not be read, of the whole key or value; -1 if unknown.
        ids: schema ids; -1 if no frame has one.
        guids: schema GUIDs, by record.
        values: for each table a struct with the columns of its records, in their order.
    """

    is_null: NDArray[np.bool_]
    tables: NDArray[np.int64]
    reasons: NDArray[np.uint8]
    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    guids: dict[int, str]
    values: list[Any]

    @property
    def are_rejected(self) -> NDArray[np.bool_]:
        """Return which keys or values do not decode."""
        return self.reasons.astype(np.bool_)

    def reject_reasons(self) -> list[str]:
        """Return why keys or values do not decode, in their order."""
        codes = self.reasons[self.are_rejected].tolist()
        return [str(RejectReason.of_code(code)) for code in codes]


def decoded_part(rows: pa.Table, typing: PartTyping, readers: SchemaReaders) -> DecodedPart:
    """Decode the keys or the values of records.

    Raises:
        TooManyItemsError: the columns of several records need too much memory together.
        UnforeseenSchemaError: the columns depend on values that were not surveyed.
    """
    count = rows.num_rows
    part = part_of(rows, typing.part)
    found = DecodedPart(
        is_null=rows.column(typing.part).is_null().to_numpy(),
        tables=np.full(count, NO_TABLE, np.int64),
        reasons=np.zeros(count, np.uint8),
        positions=np.full(count, UNKNOWN_POSITION, np.int64),
        ids=np.full(count, -1, np.int64),
        guids={},
        values=[],
    )
    pieces = [RowPieces(each.merged.type) for each in typing.typings]
    size = 0
    plain = readers.of_subject(typing.subject) if typing.form is Form.BARE else None
    names = frozenset(name for each in typing.typings for name in each.numbers)
    plain = plain or ("", typing.plain)
    context = GroupContext(typing.form, readers, typing.id_subject, plain, names)
    for group in schema_groups(part.bodies, part.headers, context):
        if typing.is_unforeseen(group):
            raise UnforeseenSchemaError
        table, piece = _decode(group, part.rows[group.rows], typing, found)
        size += 0 if piece is None else piece[1].nbytes
        if size > MOST_BYTES:  # in the columns of all schemas, or in all groups together
            if count > 1:
                raise TooManyItemsError
            found.reasons[0] = RejectReason.TOO_LARGE.code
            found.positions[0] = group.frame_bytes[0]
            found.tables[0], piece = NO_TABLE, None
        if piece is not None and len(piece[0]):
            pieces[table].add(*piece)
    found.values.extend(each.in_order() for each in pieces)
    return found


def _decode(
    group: SchemaGroup, rows: NDArray[np.int64], typing: PartTyping, found: DecodedPart
) -> tuple[int, tuple[NDArray[np.int64], Any] | None]:
    """Decode bodies of one schema; return their table, and the decoded rows and columns."""
    table = typing.table_of(group.key)
    _name(group, rows, found)
    if table == NO_TABLE:
        group = group._replace(use=group.use._replace(reader=None))
    values, reasons, positions = group.decoded()
    bad = np.flatnonzero(reasons)
    found.reasons[rows] = reasons
    found.positions[rows[bad]] = positions[bad]
    if group.use.reader is None:
        return NO_TABLE, None
    good = np.flatnonzero(reasons == 0)
    found.tables[rows[good]] = table
    sound: Any = values if len(bad) == 0 else values.take(cast("Any", pa.array(good)))
    return table, (rows[good], typing.typings[table].conformed(group.key, sound))


def _name(group: SchemaGroup, rows: NDArray[np.int64], found: DecodedPart) -> None:
    """Store the schema id and the GUID of a group."""
    kind, _, name = group.name.partition(" ")
    if kind == "id":
        found.ids[rows] = int(name)
    elif group.use.schema_id is not None:
        found.ids[rows] = group.use.schema_id
    if kind == "GUID":
        found.guids.update(dict.fromkeys(rows.tolist(), name))
