"""A row of `quarantine` whose records are to be salvaged."""

from typing import NamedTuple

from seglake.kafka_log.replica import PartitionKey
from seglake.segment_codec.formats.errors import DefectCode


class DamagedBatch(NamedTuple):
    """Row of `quarantine` whose records are to be salvaged, without its bytes.

    Attributes:
        generation: generation of the row; with broker, segment, position and hash it is the row's
            key.
        low_offset: last valid offset before the batch; None if there is none.
        high_offset: first valid offset after the batch; None if there is none.
        inner_offset: offset of a message inside a compressed set; None for a whole batch.
    """

    key: PartitionKey
    broker_id: int | None
    segment: str
    position: int
    raw_sha256: str
    defect_code: str
    generation: int
    low_offset: int | None
    high_offset: int | None
    inner_offset: int | None

    @property
    def is_inside_set(self) -> bool:
        """Return whether the row is a message of a compressed set."""
        return self.inner_offset is not None

    @property
    def is_of_loser(self) -> bool:
        """Return whether the batch is valid and its replica lost an election."""
        return self.defect_code == DefectCode.REPLICA_CONFLICT
