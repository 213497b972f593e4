"""What a search reads of a replica, and how batches in a row become one span."""

import pytest

from seglake.kafka_log.leader_epochs import LeaderEpochs
from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_decoding.gap_search_values import FoundSpan, SearchRequest
from seglake.storage.local_storage import LocalStorage
from support.encoder import Header, Record, record_batch
from support.transaction_logs import TransactionLog, abort, commit, sent
from support.walks import laid_out, sound_units


def _request(gaps: tuple[tuple[int, int], ...], *edges: int) -> SearchRequest:
    return SearchRequest(
        storage=LocalStorage(),
        files=tuple(
            SegmentFile(edge, f"/disk/{edge}.log", f"orders-0/{edge}.log", 1000, None)
            for edge in edges
        ),
        gaps=gaps,
        weak=(False,) * len(gaps),
        stop_offset=1 << 40,
        leader_epochs=LeaderEpochs(()),
        misplaced=frozenset(),
        faulty=frozenset(),
        is_replay=False,
        most_decoded_bytes=1 << 20,
        window_bytes=1 << 16,
    )


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        (((0, 100),), 1000),
        (((25, 50),), 250),
        (((50, 150),), 500 + 500),
        (((0, 10), (90, 110)), 100 + 100 + 100),
        (((200, 300),), 1000),  # of the last segment, whose end is not known
        (((190, 210),), 100 + 1000),
    ],
)
def test_a_search_reads_the_share_of_a_segment_that_the_gaps_have(
    gaps: tuple[tuple[int, int], ...], expected: int
) -> None:
    assert _request(gaps, 0, 100, 200).read_bytes == expected


def _span() -> FoundSpan:
    return FoundSpan(0, 0, 0, 0, 5, 5)


def test_a_span_holds_what_of_its_batches_lies_in_the_gap() -> None:
    records = [Record(b"k", b"v") for _ in range(10)]
    cleaned = record_batch(10, records[:2], Header(last_offset_delta=9))
    units = sound_units(laid_out(record_batch(0, records), cleaned))
    span = _span()
    span.add(units[0], 0, (5, 10))
    span.add(units[1], 10, (10, 18))
    assert (span.first_offset, span.next_offset, span.base_offset) == (5, 18, 0)
    assert (span.sound_offsets, span.record_count) == (13, 5 + 2)
    assert (span.start, span.stop, span.is_whole) == (0, sum(u.size_bytes for u in units), True)


def test_damage_in_a_span_is_behind_its_sound_batches_and_counts_for_nothing() -> None:
    (unit,) = sound_units(record_batch(5, [Record(b"k", b"v")]).data, 5)
    span = _span()
    span.add(unit, 5, (5, 6))
    span.add_damage(Defect(unit.size_bytes, 40, DefectCode.CRC_MISMATCH, "", expected_offset=6))
    assert (span.stop, span.is_whole) == (unit.size_bytes + 40, False)
    assert (span.next_offset, span.sound_offsets) == (6, 1)


def test_of_the_data_of_a_transaction_the_first_batch_is_noted_and_its_marker() -> None:
    steps = [sent(1), sent(2), sent(1), commit(1), sent(), sent(1), abort(2)]
    log = TransactionLog.of(steps)
    span = _span()
    for unit in sound_units(laid_out(*log.batches(0, log.next_offset))):
        span.add(unit, unit.first_offset, (unit.first_offset, unit.last_offset + 1))
    assert span.events == [
        DataSpan(0, 1),
        DataSpan(3, 2),
        Marker(9, 1, True),
        DataSpan(13, 1),
        Marker(16, 2, False),
    ]
