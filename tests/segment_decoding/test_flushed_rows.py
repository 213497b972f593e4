"""Rows of runs and of single batches come together in the order of the bytes."""

import numpy as np

from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.log_tables.batch_rows import BatchOutcome, BatchState, Place, batch_row
from seglake.log_tables.record_rows import Origin, UnitRows
from seglake.log_tables.run_rows import RunColumns
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import BytesSource, Window
from seglake.segment_decoding.flushed_rows import FlushedRows
from support.faults import batch
from support.walks import laid_out

_PLACES = tuple(
    Place(Origin("cluster", PartitionKey("orders", 0, None), "run", 1), 0, name, 0, 0)
    for name in ("0.log", "12.log")
)


def _run() -> BatchRun:
    content = laid_out(*(batch(2 * place) for place in range(8)))
    bounds = SegmentBounds(0, 1 << 20, is_last=True, durable_offset=0)
    walk = SegmentWalk(
        Window(BytesSource(content)), bounds, OffsetOrder(0), compares_neighbours=False
    )
    (run,) = walk.runs()
    assert isinstance(run, BatchRun)
    return run


def _add_run(flushed: FlushedRows, run: BatchRun, place: Place) -> None:
    count = len(run)
    states, counts = np.zeros(count, np.int8), np.full(count, 2)
    flushed.add_run(run, RunColumns(states, states, counts, counts), place)


def _add_batch(flushed: FlushedRows, run: BatchRun, index: int, *, has_records: bool) -> None:
    unit = run.batch(index)
    outcome = BatchOutcome(
        unit=unit,
        state=BatchState.DECODED,
        transaction_state=TransactionState.NONE,
        control_type=None,
        first_offset=unit.first_offset,
        last_offset=unit.last_offset,
        record_count=2,
        row_count=2,
        uncompressed_bytes=0,
    )
    records = UnitRows(2, 0, TransactionState.NONE, unit.first_offset) if has_records else None
    flushed.add_batch(batch_row(outcome, _PLACES[0]), records)


def test_rows_lie_in_the_order_of_the_bytes() -> None:
    run, flushed = _run(), FlushedRows()
    _add_run(flushed, run.part(0, 2), _PLACES[0])
    _add_batch(flushed, run, 2, has_records=False)
    _add_run(flushed, run.part(3, 4), _PLACES[0])
    _add_batch(flushed, run, 4, has_records=True)
    _add_batch(flushed, run, 5, has_records=True)
    _add_run(flushed, run.part(6, 8), _PLACES[1])
    rows = flushed.batches()
    assert rows is not None
    assert rows.column("base_offset").to_pylist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert rows.column("segment").to_pylist() == ["0.log"] * 6 + ["12.log"] * 2
    assert flushed.shared().batch_base_offsets.tolist() == [0, 2, 6, 8, 10, 12, 14]


def test_without_batches_there_are_no_rows() -> None:
    assert FlushedRows().batches() is None
