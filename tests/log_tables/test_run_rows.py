"""The rows of a run are those of its batches."""

import numpy as np

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import BATCHES
from seglake.log_tables.batch_rows import (
    BATCH_STATES,
    BatchOutcome,
    BatchState,
    Place,
    batch_row,
)
from seglake.log_tables.record_rows import STATES, Origin, UnitRows, shared_of
from seglake.log_tables.run_rows import RunColumns, run_rows, shared_of_runs
from seglake.segment_codec.formats.control_record import ControlType
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import Codec, EncodedBatch, Header, Producer, Record, end_marker, record_batch
from support.encoder import ControlType as EncodedType
from support.walks import laid_out

RECORDS = [Record(b"k", b"v" * 50, 1_700_000_000_000 + place) for place in range(3)]
HEADERS = (
    Header(),
    Header(leader_epoch=-1),
    Header(leader_epoch=7, producer=Producer(1 << 40, 3, 11), is_transactional=True),
    Header(log_append_time_ms=1_700_000_000_009),
    Header(delete_horizon_ms=1_700_000_086_400),
)


def _run(*batches: EncodedBatch) -> BatchRun:
    bounds = SegmentBounds(
        base_offset=0, limit_offset=1 << 20, is_last=True, durable_offset=0, anchors=tuple
    )
    window = Window(BytesSource(laid_out(*batches)), 1 << 16)
    (run,) = SegmentWalk(window, bounds, OffsetOrder(0), compares_neighbours=False).runs()
    assert isinstance(run, BatchRun)
    return run


def _added(run: BatchRun) -> RunColumns:
    """States and counts that differ from batch to batch."""
    places = np.arange(len(run))
    states = (places % len(BATCH_STATES)).astype(np.int8)
    transaction_states = (places % len(STATES)).astype(np.int8)
    return RunColumns(states, transaction_states, places + 1, 100 * places)


def test_rows_of_a_run_are_those_of_its_batches() -> None:
    codecs = list(Codec)
    batches = [
        record_batch(4 * place, RECORDS, header, codec=codecs[place % len(codecs)])
        for place, header in enumerate(HEADERS * 3)
    ]
    control_types = [None] * len(batches) + [ControlType.ABORT, ControlType.COMMIT] * 2
    batches += [
        end_marker(100 + place, encoded, producer_id=7)
        for place, encoded in enumerate([EncodedType.ABORT, EncodedType.COMMIT] * 2)
    ]
    run = _run(*batches)
    added = _added(run)
    for topic_id, broker_id in ((None, None), ("an-id", 3)):
        key = PartitionKey("orders", 2, topic_id)
        place = Place(
            origin=Origin("cluster", key, "a run", 4),
            broker_id=broker_id,
            segment="0.log",
            origin_position=1_000,
            started_at_us=0,
        )
        rows = [
            batch_row(
                BatchOutcome(
                    unit=(batch := run.batch(index)),
                    state=(state := BATCH_STATES[int(added.states[index])]),
                    transaction_state=STATES[int(added.transaction_states[index])],
                    control_type=control_types[index],
                    first_offset=batch.first_offset,
                    last_offset=batch.last_offset,
                    record_count=batch.header.record_count,
                    row_count=index + 1,
                    uncompressed_bytes=100 * index if state is BatchState.DECODED else None,
                ),
                place,
            )
            for index in range(len(run))
        ]
        assert run_rows([run], [added], place).to_pylist() == BATCHES.to_arrow(rows).to_pylist()
        assert run_rows([run], [added], place).schema == BATCHES.to_arrow(rows).schema


def test_records_share_what_those_of_the_batches_share() -> None:
    run = _run(*(record_batch(4 * place, RECORDS, header) for place, header in enumerate(HEADERS)))
    units = [
        UnitRows(place + 1, int(place == 3), STATES[place % len(STATES)], 4 * place)
        for place in range(len(HEADERS))
    ]
    found, expected = shared_of_runs([run], [_added(run)]), shared_of(units)
    for ours, theirs in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
