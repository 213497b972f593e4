"""What a search finds in a replica, whatever its index and its end say."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import SegmentFile
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_decoding.gap_search import search
from seglake.segment_decoding.gap_search_values import Refused, SearchRequest
from seglake.storage.local_storage import LocalStorage
from support.accounts import standing_gaps
from support.encoder import EncodedBatch
from support.faults import bad_crc
from support.lakes import ingested, read_table, versions
from support.made_logs import made_batches, make_log_dir

_ORDERS = ("orders", 0)


@pytest.mark.parametrize("end", [b"\0" * 50, b"\x07" * 9])
def test_unfinished_end_of_a_copy_is_not_recorded_by_every_run(tmp_path: Path, end: bytes) -> None:
    one = make_log_dir(tmp_path / "one", {_ORDERS: [0, 20, 40, 60]}, broker_id=1)
    (one / "orders-0" / f"{20:020}.log").unlink()
    two = make_log_dir(
        tmp_path / "two", {_ORDERS: [0, 20, 30]}, broker_id=2, high_watermarks={_ORDERS: 60}
    )
    last = two / "orders-0" / f"{20:020}.log"
    last.write_bytes(last.read_bytes() + end)
    lake = tmp_path / "lake"
    ingested(one, lake)
    ingested(two, lake)
    before = versions(lake)
    ingested(two, lake)
    assert versions(lake) == before
    assert [(g.start_offset, g.next_offset) for g in standing_gaps(lake)] == [(30, 40)]


def test_index_that_names_no_batch_starts_does_not_mislead_a_search(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 400, 420]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1, value_bytes=100)
    (one / "orders-0" / f"{20:020}.log").unlink()
    two = make_log_dir(tmp_path / "two", edges, broker_id=2, value_bytes=100)
    index = two / "orders-0" / f"{20:020}.index"
    index.write_bytes(struct.pack(">iiii", 1, 5003, 100, 20011))
    lake = tmp_path / "lake"
    ingested(one, lake)
    ingested(two, lake)
    assert standing_gaps(lake) == []
    assert read_table(lake, "quarantine") == []


def _request(
    data: Path, batches: Sequence[EncodedBatch], gap: OffsetRange, *, is_weak: bool = False
) -> SearchRequest:
    data.mkdir(exist_ok=True)
    path = data / f"{0:020}.log"
    path.write_bytes(b"".join(batch.data for batch in batches))
    file = SegmentFile(0, str(path), f"orders-0/{path.name}", path.stat().st_size, None)
    return SearchRequest(
        storage=LocalStorage(),
        files=(file,),
        gaps=(gap,),
        weak=(is_weak,),
        stop_offset=OPEN_END,
        leader_epochs=LeaderEpochs(()),
        misplaced=frozenset(),
        faulty=frozenset(),
        is_replay=False,
        most_decoded_bytes=1 << 20,
        window_bytes=1 << 16,
    )


def _spans(request: SearchRequest) -> list[tuple[int, int, int, bool]]:
    spans, *_ = search(request)
    return [(s.first_offset, s.next_offset, s.sound_offsets, s.is_whole) for s in spans]


def test_batches_in_a_row_are_one_span_and_one_that_reaches_out_of_the_gap_is_alone(
    data: Path,
) -> None:
    request = _request(data, made_batches(*_ORDERS, range(40)), (12, 30))
    assert _spans(request) == [(12, 15, 3, True), (15, 30, 15, True)]
    spans, *_ = search(request)
    assert [[crossing.offset for crossing in span.crossings] for span in spans] == [[11], []]


def test_damage_belongs_to_a_span_only_where_the_lake_lacks_evidence(data: Path) -> None:
    batches = made_batches(*_ORDERS, range(40))
    batches[3] = bad_crc(batches[3])
    request = _request(data, batches, (10, 25))
    assert _spans(request) == [(10, 15, 5, True), (20, 25, 5, True)]
    assert _spans(request._replace(weak=(True,))) == [(10, 25, 10, False)]


def test_batches_of_another_leader_epoch_or_that_were_refused_are_not_offered(data: Path) -> None:
    batches = [
        *made_batches(*_ORDERS, range(10), leader_epoch=1),
        *made_batches(*_ORDERS, range(10, 20), leader_epoch=2),
    ]
    request = _request(data, batches, (0, 20))
    epochs = leader_epochs_of([EpochStart(1, 0)])
    assert _spans(request._replace(leader_epochs=epochs)) == [(0, 10, 10, True)]
    assert search(request._replace(leader_epochs=epochs)).unused == [(0, (10, 20))]
    refused = frozenset({Refused(request.files[0].name, 0, 4)})
    assert search(request._replace(faulty=refused)).unused == [(0, (0, 5))]
    assert _spans(request._replace(misplaced=refused)) == [(5, 20, 15, True)]
    assert _spans(request._replace(faulty=refused)) == [(5, 20, 15, True)]
    replayed = request._replace(faulty=refused, is_replay=True)
    assert _spans(replayed) == [(0, 20, 20, True)]


def test_a_replica_that_cannot_be_read_offers_nothing_and_says_so(data: Path) -> None:
    request = _request(data, made_batches(*_ORDERS, range(10)), (0, 10))
    path = Path(request.files[0].path)
    path.unlink()
    path.mkdir()
    assert search(request) == ([], f"cannot open {path}: it is a folder", [], [(0, (0, 10))])


def test_a_segment_that_went_meanwhile_is_no_failure(data: Path) -> None:
    request = _request(data, made_batches(*_ORDERS, range(10)), (0, 10))
    Path(request.files[0].path).unlink()
    assert search(request) == ([], "", [], [(0, (0, 10))])
