"""Events of a tier are folded as a broker does."""

import base64
from pathlib import Path

import pytest

from seglake.kafka_log.remote_events import RemoteLog, RemoteState, remote_logs
from seglake.kafka_log.replica import PartitionKey
from seglake.segment_codec.formats.internal_topics.remote_log_records import remote_log_record
from support.encoder.internal import compact, int8, int32, int64, tagged, uvarint
from support.tiers import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    Place,
    new_id,
    started,
    updated,
)

_PLACE = Place("t", 3, Path(f"t-3-{'A' * 21}Q"))
_KEY = PartitionKey("t", 3, f"{'A' * 21}Q")
_ID, _OTHER = new_id(), new_id()


def _log(*values: bytes) -> RemoteLog:
    (log,) = remote_logs(map(remote_log_record, values)).values()
    return log


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], RemoteState.COPY_STARTED),
        ([COPY_STARTED], RemoteState.COPY_STARTED),
        ([COPY_FINISHED], RemoteState.COPY_FINISHED),
        ([COPY_FINISHED, COPY_FINISHED], RemoteState.COPY_FINISHED),
        ([COPY_FINISHED, COPY_STARTED], RemoteState.COPY_FINISHED),
        ([DELETE_STARTED], RemoteState.DELETE_STARTED),
        ([DELETE_FINISHED], RemoteState.COPY_STARTED),
        ([COPY_FINISHED, DELETE_FINISHED], RemoteState.COPY_FINISHED),
        ([COPY_FINISHED, DELETE_STARTED, COPY_FINISHED], RemoteState.DELETE_STARTED),
        ([COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED], RemoteState.DELETE_FINISHED),
    ],
)
def test_only_steps_that_a_state_allows_count(states: list[int], expected: RemoteState) -> None:
    log = _log(
        started(_PLACE, _ID, (10, 20), [(2, 10), (4, 15)]),
        *(updated(_PLACE, _ID, state) for state in states),
    )
    copy = log.copies[_ID]
    assert copy.state is expected
    assert (copy.key, copy.start_offset, copy.next_offset) == (_KEY, 10, 20)
    assert copy.epochs == ((2, 10), (4, 15))


def test_events_of_an_upload_whose_start_is_gone_do_not_make_it_readable() -> None:
    log = _log(
        started(_PLACE, _ID, (0, 9), [(0, 0)]),
        updated(_PLACE, _OTHER, COPY_FINISHED),
        updated(_PLACE, _OTHER, DELETE_STARTED),
    )
    assert set(log.copies) == {_ID}
    assert log.deleted == {_OTHER}


def test_the_end_of_a_partition_ends_its_uploads() -> None:
    partition = (
        compact("t") + base64.urlsafe_b64decode(f"{_PLACE.topic_id}==") + int32(3) + tagged()
    )
    delete = uvarint(1) + uvarint(2) + uvarint(0) + partition + int32(1) + int64(0) + int8(0)
    log = _log(
        started(_PLACE, _ID, (0, 9), [(0, 0)]),
        updated(_PLACE, _ID, COPY_FINISHED),
        delete + tagged(),
    )
    assert log.copies[_ID].state is RemoteState.DELETE_STARTED


@pytest.mark.parametrize(
    "offsets", [(-1, 5), (5, 5), (5, 2), (0, 1 << 33), (0, (1 << 63) - 1), (7, -(1 << 63) + 1)]
)
def test_an_upload_with_impossible_offsets_is_passed_over(offsets: tuple[int, int]) -> None:
    assert _log(started(_PLACE, _ID, offsets, [(0, 0)])).copies == {}


def test_values_that_are_no_events_are_passed_over() -> None:
    assert remote_logs(map(remote_log_record, [None, b"", b"\x01\x09\x00"])) == {}
