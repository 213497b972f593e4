"""Batches and damage as columns of `batches` and `quarantine`, without columns about a run.

Of a damaged batch, only the header's values are known. They are called claims, because they may be
wrong.
"""

from typing import Any, NamedTuple

from seglake.lake.tables import BATCHES, QUARANTINE, Table
from seglake.log_tables.batch_rows import HeaderColumns, codec_name, header_columns
from seglake.log_tables.quarantine_rows import RawBytes, damage_columns, kept_bytes
from seglake.pipelines.segment_inspect.verdicts import ValidBatch
from seglake.segment_codec.formats.control_record import ControlType
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.claimed_unit import claimed_unit
from seglake.storage.storage import Reader

MOST_RAW_BYTES = 1 << 20  # most bytes of a defect: as many as `quarantine` stores by default


class Origin(NamedTuple):
    """Origin of bytes: partition, segment and broker; values that no file shows are None."""

    source_id: str | None = None
    topic_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker_id: int | None = None
    segment: str | None = None


class BatchFound(NamedTuple):
    """Batch, or the claims in a damaged batch's header.

    Attributes:
        unit: the batch; without its payload if it is damaged.
        origin: the partition and segment.
        decoded: the decoded batch; None if it is damaged.
        marks: words for a person about the batch's position relative to log start and high
            watermark.
    """

    unit: Unit
    origin: Origin
    decoded: ValidBatch | None
    marks: tuple[str, ...] = ()

    @property
    def header(self) -> HeaderColumns:
        """Return the columns of the batch's header."""
        return header_columns(self.unit)

    @property
    def codec(self) -> str | None:
        """Return the codec's name; None for an id that Kafka has not assigned."""
        return codec_name(self.unit)

    @property
    def base_offset(self) -> int | None:
        """Return the first offset; None for a damaged wrapper, whose header does not state it."""
        if self.decoded is not None:
            return self.decoded.first_offset
        return None if isinstance(self.unit, Wrapper) else self.unit.first_offset

    @property
    def last_offset(self) -> int:
        """Return the last offset; for a damaged batch, the last offset that its header states."""
        return self.unit.last_offset if self.decoded is None else self.decoded.last_offset

    @property
    def record_count(self) -> int | None:
        """Return the number of records; None for a damaged wrapper."""
        if self.decoded is not None:
            return self.decoded.record_count
        match self.unit:
            case RecordBatch():
                return self.unit.header.record_count
            case MessageRun():
                return self.unit.message_count
            case Wrapper():
                return None

    @property
    def control_type(self) -> ControlType | None:
        """Return the kind of a marker; None for data and for damaged batches."""
        return None if self.decoded is None else self.decoded.control_type

    def columns(self) -> dict[str, Any]:
        """Return the columns of `batches`, except columns about a run, and the column `valid`."""
        columns = {
            **self.origin._asdict(),
            **self.header._asdict(),
            "base_offset": self.base_offset,
            "last_offset": self.last_offset,
            "record_count": self.record_count,
            "magic": self.unit.magic,
            "codec": self.codec,
            "size_bytes": self.unit.size_bytes,
            "uncompressed_bytes": None if self.decoded is None else self.decoded.plain_bytes,
            "control_type": self.control_type,
            "position": self.unit.position,
        }
        return {**_in_order(BATCHES, columns), "valid": self.decoded is not None}


class DefectFound(NamedTuple):
    """Damaged bytes, with the nearest valid offset before and after them."""

    defect: Defect
    raw: RawBytes
    origin: Origin
    previous_offset: int | None
    next_offset: int | None = None

    def columns(self) -> dict[str, Any]:
        """Return the row that `quarantine` would have, without columns about a run."""
        columns = {
            **self.origin._asdict(),
            **damage_columns(self.defect, self.raw),
            "previous_offset": self.previous_offset,
            "next_offset": self.next_offset,
        }
        return _in_order(QUARANTINE, columns)


def claimed_batch(
    reader: Reader, position: int, size_bytes: int, origin: Origin, mark: str
) -> BatchFound | None:
    """Return the claims in a damaged batch's header; None if the bytes are too few for the batch.

    Args:
        reader: reads the segment.
        position: first byte of the damage.
        size_bytes: number of damaged bytes.
        origin: the partition and segment.
        mark: short label of the damage, for the printed line.
    """
    unit = claimed_unit(reader, position, size_bytes)
    return None if unit is None else BatchFound(unit, origin, None, (mark,))


def damage(
    defect: Defect, origin: Origin, previous_offset: int | None, reader: Reader
) -> tuple[BatchFound | None, DefectFound]:
    """Return a defect, and its header's claims if the damage is exactly one whole batch.

    Args:
        defect: the damage.
        origin: the partition and segment.
        previous_offset: last valid offset before the damage; None if there is none.
        reader: reads the segment.
    """
    raw = kept_bytes(defect, reader, MOST_RAW_BYTES)
    if defect.content is not None:
        return None, DefectFound(defect, raw, origin, previous_offset)
    claims = claimed_batch(reader, defect.position, defect.size_bytes, origin, defect.code)
    if claims is not None and claims.unit.size_bytes != defect.size_bytes:
        claims = None  # the length is implausible, or several messages are damaged
    return claims, DefectFound(defect, raw, origin, previous_offset)


def _in_order(table: Table, columns: dict[str, Any]) -> dict[str, Any]:
    return {name: columns[name] for name in table.schema.names if name in columns}
