"""What a survey's walk has met so far. Values that grow."""

from dataclasses import dataclass, field

import numpy as np

from seglake.kafka_log.segment_survey import NO_WINDOW, TimeWindow
from seglake.kafka_log.transactions.transaction_events import TransactionEvents
from seglake.log_dirs.split_points import SplitPoints
from seglake.segment_codec.batch_run import BatchRun
from seglake.segment_codec.checkpoint_files import EpochStart
from seglake.segment_codec.offset_order import OffsetOrder, Unit
from seglake.segment_codec.record_batch import RecordBatch
from seglake.segment_codec.segment import Tail


@dataclass(slots=True)
class EpochRuns:
    """Of batches in a row with the same leader epoch: the first and the last."""

    starts: list[EpochStart] = field(default_factory=list)
    epoch: int = -1

    def add(self, batch: RecordBatch, last: Unit | None) -> None:
        """A batch was met; `last` is what came before it."""
        epoch = batch.header.partition_leader_epoch
        if epoch != self.epoch:
            self.end(last)
            self.epoch = epoch
            if epoch >= 0:
                self.starts.append(EpochStart(epoch, batch.first_offset))

    def add_run(self, run: BatchRun, last: Unit | None) -> None:
        """Batches in a row were met."""
        epochs = run.column("partition_leader_epoch")
        breaks = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
        for index in [0, *breaks.tolist()]:
            self.add(run.batch(index), run.batch(index - 1) if index else last)

    def end(self, last: Unit | None) -> None:
        """Name the last batch of those in a row, unless it is the first."""
        if self.epoch < 0 or not isinstance(last, RecordBatch):
            return
        if last.first_offset != self.starts[-1].start_offset:
            self.starts.append(EpochStart(self.epoch, last.first_offset))


@dataclass(slots=True)
class Collected:
    """What a walk has met so far."""

    base_offset: int
    is_proved: bool  # every batch by its checksum
    order: OffsetOrder
    transactions: TransactionEvents
    splits: SplitPoints
    first_offset: int | None = None
    last: Unit | None = None
    has_compacted_batch: bool = False
    is_faulty: bool = False
    is_cut_open: bool = False
    hole_count: int = 0
    tail: Tail | None = None
    window: TimeWindow = NO_WINDOW
    newest_ms: int | None = None
    newest: RecordBatch | None = None  # until it is proved
    epochs: EpochRuns = field(default_factory=EpochRuns)
