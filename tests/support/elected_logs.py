"""Made logs that elections cut: each leader writes its own values, transactions among them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
)
from support.lakes import read_table
from support.made_logs import FIRST_MS, STEP_MS, TOPIC_IDS, write_over
from support.views import viewed

TOPIC = "orders"
_DATA = ""


class Written(NamedTuple):
    """A batch as a leader writes it.

    Attributes:
        size: records, or 1 for the marker that ends a transaction.
        producer_id: of a transaction; None outside.
        end: "commit" or "abort" of a marker.
    """

    epoch: int
    size: int
    producer_id: int | None = None
    end: str = _DATA
    codec: Codec = Codec.NONE


class ElectedLog(NamedTuple):
    """Batches from offset 0 on."""

    batches: tuple[Written, ...]
    value_bytes: int = 0

    @classmethod
    def of(cls, *batches: Written, value_bytes: int = 0) -> "ElectedLog":
        return cls(batches, value_bytes)

    def placed(self) -> Iterable[tuple[int, Written]]:
        """Each batch with its first offset."""
        offset = 0
        for batch in self.batches:
            yield offset, batch
            offset += batch.size

    @property
    def end(self) -> int:
        return sum(batch.size for batch in self.batches)

    def value(self, epoch: int, offset: int) -> bytes:
        start = b"%d@%d" % (epoch, offset)
        return start + bytes(self.value_bytes)

    def consumed(self, *, committed_only: bool = False) -> list[tuple[int, bytes]]:
        """Offset and value of what a consumer gets, by looking forward for each marker."""
        placed = list(self.placed())
        found: list[tuple[int, bytes]] = []
        for index, (first, batch) in enumerate(placed):
            ends = (
                later.end
                for _, later in placed[index + 1 :]
                if later.end and later.producer_id == batch.producer_id
            )
            if batch.end or (
                committed_only and batch.producer_id is not None and next(ends, "") != "commit"
            ):
                continue
            offsets = range(first, first + batch.size)
            found += [(offset, self.value(batch.epoch, offset)) for offset in offsets]
        return found

    def encoded(self) -> list[EncodedBatch]:
        return [self._encoded(first, batch) for first, batch in self.placed()]

    def _encoded(self, first: int, batch: Written) -> EncodedBatch:
        if batch.end:
            kind = ControlType.COMMIT if batch.end == "commit" else ControlType.ABORT
            return end_marker(
                first,
                kind,
                producer_id=batch.producer_id or 0,
                timestamp_ms=FIRST_MS + first * STEP_MS,
                leader_epoch=batch.epoch,
            )
        producer = Producer() if batch.producer_id is None else Producer(batch.producer_id, 0, 0)
        records = [
            Record(None, self.value(batch.epoch, offset), FIRST_MS + offset * STEP_MS)
            for offset in range(first, first + batch.size)
        ]
        header = Header(
            leader_epoch=batch.epoch,
            producer=producer,
            is_transactional=batch.producer_id is not None,
        )
        return record_batch(first, records, header, codec=batch.codec)

    def epochs(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for first, batch in self.placed():
            if not found or found[-1][0] != batch.epoch:
                found.append((batch.epoch, first))
        return found


def plain(epoch: int, batches: int, size: int = 5) -> list[Written]:
    """Batches outside of transactions."""
    return [Written(epoch, size)] * batches


def write_elected(
    folder: Path,
    log: ElectedLog,
    *,
    broker_id: int = 0,
    high_watermark: int | None = None,
    log_start: int | None = None,
    epochs: Sequence[tuple[int, int]] = (),
    bases: Sequence[int] = (0,),
) -> Path:
    """A log dir with this log alone, over what was there.

    Args:
        log_start: where it was cut by retention; None for 0.
        epochs: those of the checkpoint file; as the batches have them where none are given.
        bases: of its segments.
    """
    batches = [*zip((first for first, _ in log.placed()), log.encoded(), strict=True)]
    segments = [
        Segment(base, [batch for first, batch in batches if base <= first < following])
        for base, following in zip(bases, [*bases[1:], log.end + 1], strict=True)
    ]
    partition = Partition(
        TOPIC,
        0,
        segments,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        topic_id=TOPIC_IDS[TOPIC],
        leader_epochs=tuple(epochs or log.epochs()),
    )
    return write_over(folder, [partition], broker_id=broker_id)


def current(lake: Path) -> list[tuple[int, bytes]]:
    """Offset and value of what counts in the lake, by the view, in order."""
    rows = viewed(lake, 'SELECT "offset", value FROM current_records ORDER BY "offset"')
    return [(row["offset"], row["value"]) for row in rows]


def stored(lake: Path) -> int:
    """Return the number of rows in `records`, also of those that lost an election."""
    return len(read_table(lake, "records"))
