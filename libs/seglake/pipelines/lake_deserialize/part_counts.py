"""Counts of a topic's keys or values: by schema if they decode, by reason if not."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.decoded import UNKNOWN_POSITION
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.schema_groups import GroupContext, SchemaGroup, schema_groups
from seglake.value_codec.registry.schemas import DEFAULT_CONTEXT
from seglake.value_codec.reject_reasons import UNKNOWN_SCHEMA, RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse
from seglake.value_decoding.record_parts import part_of

_PLAIN_JSON = "", TEXT_USE
_NO_SUBJECT = "", SchemaUse("", problem=RejectReason.UNKNOWN_SCHEMA_ID)


@dataclass(slots=True)
class PartCounts:
    """Counts of the keys or the values of a topic.

    Attributes:
        source_id: cluster of the topic.
        topic: name of the topic.
        part: "key" or "value".
        form: form of all keys or values.
        subject: subject of the schema that a person names for bodies without a frame.
        records: number of records.
        nulls: records without a key, or tombstones.
        decoded: number of bodies that decode completely; a body is a key or a value.
        left_out: number of bodies that would decode, but a run leaves their topic out.
        rejects: number of bodies that do not decode, by reason.
        first_rejects: where the first rejected body is, by reason.
        schemas: number of bodies by schema, named by id or GUID, name and context.
    """

    source_id: str
    topic: str
    part: str
    form: Form = Form.NONE
    subject: str = ""
    records: int = 0
    nulls: int = 0
    decoded: int = 0
    left_out: int = 0
    rejects: Counter[RejectReason] = field(default_factory=Counter)
    first_rejects: dict[RejectReason, str] = field(default_factory=dict)
    schemas: Counter[str] = field(default_factory=Counter)

    @property
    def reject_count(self) -> int:
        """Return the number of keys or values that do not decode."""
        return self.rejects.total()

    def leave_out(self) -> None:
        """Count the bodies that decode as left out."""
        self.decoded, self.left_out = 0, self.decoded

    def add(self, rows: pa.Table, partition: int, readers: SchemaReaders) -> None:
        """Count the keys or values of some records of a partition."""
        found = part_of(rows, self.part)
        self.records += rows.num_rows
        self.nulls += rows.num_rows - len(found.rows)
        if self.form is Form.NONE:
            return
        offsets = rows.column("offset").to_numpy()[found.rows]
        places = _Places(self.topic, partition, offsets)
        plain = readers.of_subject(self.subject) or _NO_SUBJECT if self.subject else _PLAIN_JSON
        context = GroupContext(self.form, readers, f"{self.topic}-{self.part}", plain)
        groups = schema_groups(found.bodies, found.headers, context)
        rejects = sorted(reject for group in groups for reject in self._rejected(group))
        for row, position, reason in rejects:
            self.rejects[reason] += 1
            self.first_rejects.setdefault(reason, places.of(row, position))

    def _rejected(self, group: SchemaGroup) -> Iterator[tuple[int, int, RejectReason]]:
        """Count the keys or values of a group; yield the index, position and reason of rejects."""
        use = group.use
        if use.name and use.problem not in UNKNOWN_SCHEMA:
            context = "" if use.context == DEFAULT_CONTEXT else f" of context {use.context}"
            self.schemas[f"{group.name} {use.name}{context}"] += len(group.rows)
        first = 0
        for _, reasons, positions in group.decoded_parts():
            rejected = np.flatnonzero(reasons)
            self.decoded += len(reasons) - len(rejected)
            for row in rejected.tolist():
                reason = RejectReason.of_code(int(reasons[row]))
                yield int(group.rows[first + row]), int(positions[row]), reason
            first += len(reasons)

    # Any: the types that JSON can hold.
    def to_mapping(self) -> Mapping[str, Any]:
        """Return the counts as a mapping."""
        names = (each.name for each in fields(self) if each.name != "subject")
        return {name: getattr(self, name) for name in names}


class _Places(NamedTuple):
    """Builder of texts that locate a record."""

    topic: str
    partition: int
    offsets: NDArray[np.int64]

    def of(self, row: int, position: int) -> str:
        place = f"{self.topic}-{self.partition} offset {self.offsets[row]}"
        return place if position == UNKNOWN_POSITION else f"{place}, byte {position}"
