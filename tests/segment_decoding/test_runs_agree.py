"""A split that is decoded by runs gives the rows that it gives batch by batch."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.replica import PartitionKey, SegmentFile
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.tasks import (
    DecodeSettings,
    PartitionSplit,
    SegmentSplit,
)
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from support.mixed_batches import KINDS, drawn_kinds, laid_out_kinds

SOUND = set(KINDS) - {"message", "wrapper", "far away", "raised", "lowered"}
MARKERS = (Marker(31, 7, is_commit=True), Marker(60, 9, is_commit=False))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("split") / f"{0:020}.log"


def _split(path: Path, content: bytes) -> PartitionSplit:
    path.write_bytes(content)
    piece = SegmentSplit(
        file=SegmentFile(0, str(path), f"orders-0/{path.name}", len(content), None),
        start=0,
        stop=len(content),
        limit_offset=1 << 20,
        expected_offset=0,
        start_crc=-1,
        is_last=True,
        is_cleaned=True,
        is_compacted=False,
        is_plain=True,
    )
    return PartitionSplit(
        key=PartitionKey("orders", 0, None),
        broker_id=1,
        segment_splits=(piece,),
        range_start=0,
        range_next=1 << 20,
        log_start_offset=0,
        durable_offset=1 << 20,
        is_plain=True,
        markers=MARKERS,
        cuts_end=False,
    )


_SETTINGS = DecodeSettings(
    storage=LocalStorage(),
    lake_path="",
    source_id="cluster",
    run_id="run",
    attempt_id="attempt",
    started_at_us=0,
    reads_aborted=False,
    reads_undecided=False,
    window_bytes=1 << 16,
    decoded_bytes=1 << 20,
    max_decompressed_batch_bytes=1 << 20,
    max_raw_bytes=1 << 20,
    target_file_bytes=1 << 30,
    compression_level=1,
)


# Any: the rows of all tables, and the report; or what is wrong with the split as a whole.
def _decoded(split: PartitionSplit, settings: DecodeSettings) -> Any:
    decoder = SplitDecoder(split, settings)
    rows: dict[str, list[Any]] = {}
    try:
        for table, found in decoder.rows():
            arrow = found if isinstance(found, pa.RecordBatch) else table.to_arrow(found)
            rows.setdefault(table.name, []).extend(arrow.to_pylist())
    except StorageError as error:
        return str(error)
    return rows, decoder.report()


@given(
    kinds=drawn_kinds(SOUND),
    offsets=st.tuples(st.integers(0, 40), st.integers(1, 300), st.integers(0, 40)),
    sizes=st.tuples(st.sampled_from([300, 1 << 16]), st.sampled_from([50, 400, 1 << 20])),
    reads_aborted=st.booleans(),
    cuts_end=st.booleans(),
)
def test_rows_by_runs_are_those_by_batches(
    path: Path,
    kinds: list[str],
    offsets: tuple[int, int, int],
    sizes: tuple[int, int],
    reads_aborted: bool,
    cuts_end: bool,
) -> None:
    start, length, log_start = offsets
    split = _split(path, laid_out_kinds(kinds))._replace(
        range_start=start,
        range_next=start + length,
        log_start_offset=log_start,
        cuts_end=cuts_end,
    )
    settings = replace(
        _SETTINGS, window_bytes=sizes[0], decoded_bytes=sizes[1], reads_aborted=reads_aborted
    )
    by_runs = _decoded(split, settings)
    with patch.object(SegmentWalk, "runs", SegmentWalk.items):
        assert _decoded(split, settings) == by_runs
