"""Uploads make up a log by their leader epochs, each offset once."""

from dataclasses import replace

import pytest

from seglake.kafka_log.remote_events import RemoteState
from seglake.kafka_log.remote_segments import TierLog, Upload, lineage_of, tier_log
from seglake.kafka_log.replica import RemoteGap, SegmentFile
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart


def _upload(
    name: str,
    start: int,
    stop: int,
    *epochs: tuple[int, int],
    state: RemoteState | None = RemoteState.COPY_FINISHED,
    order: int = 0,
) -> Upload:
    return Upload(
        segment_id=name,
        start_offset=start,
        next_offset=stop,
        epochs=tuple(EpochStart(*each) for each in (epochs or [(0, 0)])),
        file=SegmentFile(start, f"/t/{name}.log", f"{name}.log", 1, None),
        state=state,
        order=order,
    )


def _log(
    *uploads: Upload, lineage: tuple[tuple[int, int], ...] = (), log_start: int = 0
) -> TierLog:
    epochs = tuple(EpochStart(*each) for each in lineage)
    return tier_log(uploads, lineage=epochs, log_start=log_start, includes_unknown=False)


def _shown(log: TierLog) -> list[tuple[str, int, int]]:
    return [
        (each.upload.segment_id, each.upload.start_offset, each.next_offset) for each in log.chosen
    ]


def test_segments_in_order_are_read_whole() -> None:
    log = _log(_upload("b", 10, 20), _upload("a", 0, 10), _upload("c", 20, 25))
    assert _shown(log) == [("a", 0, 10), ("b", 10, 20), ("c", 20, 25)]
    assert log.is_confirmed
    assert (log.gaps, log.left_out, log.others) == ((), {}, ())


def test_each_overlapping_upload_is_read_up_to_the_next_one() -> None:
    log = _log(_upload("a", 0, 15), _upload("b", 10, 30), _upload("c", 12, 20))
    assert _shown(log) == [("a", 0, 10), ("b", 10, 30)]


def test_repairs_can_read_every_upload_to_its_end_but_no_chosen_one_twice() -> None:
    uploads = _upload("a", 0, 15), _upload("b", 10, 30), _upload("c", 12, 20), _upload("d", 30, 35)
    log = _log(*uploads, _upload("e", 16, 18))
    assert _shown(log) == [("a", 0, 10), ("b", 10, 30), ("d", 30, 35)]
    found = [[(each.upload.segment_id, each.next_offset) for each in own] for own in log.others]
    assert found == [[("a", 15), ("e", 18)], [("c", 20)]]


def test_of_two_uploads_of_the_same_offsets_the_later_one_is_read() -> None:
    assert _shown(_log(_upload("a", 0, 9, order=1), _upload("b", 0, 9, order=2))) == [("b", 0, 9)]


def test_a_hole_between_uploads_stays_one() -> None:
    assert _shown(_log(_upload("a", 0, 5), _upload("b", 8, 9))) == [("a", 0, 5), ("b", 8, 9)]


def test_what_a_deposed_leader_uploaded_counts_up_to_the_election() -> None:
    log = _log(
        _upload("old", 0, 20, (0, 0), order=9),
        _upload("new", 15, 30, (2, 15)),
        lineage=((0, 0), (2, 15)),
    )
    assert _shown(log) == [("old", 0, 15), ("new", 15, 30)]
    log = _log(_upload("lost", 10, 20, (1, 10)), lineage=((0, 0), (2, 15)))
    assert (_shown(log), log.left_out) == ([], {"of a leader epoch that lost an election": 1})


def test_epochs_below_those_of_a_cut_lineage_count() -> None:
    """Retention cuts the lineage at the log start, in the midst of a segment."""
    log = _log(_upload("a", 0, 20, (0, 0), (3, 12)), lineage=((3, 12), (4, 20)), log_start=12)
    assert _shown(log) == [("a", 0, 20)]
    log = _log(_upload("a", 0, 10, (0, 0)), lineage=((3, 12), (4, 20)))
    assert _shown(log) == [("a", 0, 10)]


def test_uploads_newer_than_the_replica_make_the_lineage() -> None:
    log = _log(_upload("a", 0, 10), _upload("b", 10, 20, (5, 10)), lineage=((0, 0),))
    assert _shown(log) == [("a", 0, 10), ("b", 10, 20)]
    assert log.lineage == ((0, 0), (5, 10))


def test_without_a_replica_the_newest_upload_begins_the_lineage() -> None:
    uploads = [
        _upload("a", 0, 10, (0, 0)),
        _upload("lost", 8, 12, (1, 8)),
        _upload("b", 10, 20, (0, 10), (2, 15)),
    ]
    assert lineage_of(uploads) == ((0, 0), (2, 15))


def test_deleted_uploads_at_the_log_start_move_it() -> None:
    gone = replace(_upload("a", 0, 10, state=RemoteState.DELETE_STARTED), was_finished=True)
    rest = [_upload("b", 10, 20), _upload("c", 20, 30)]
    assert _log(gone, *rest).log_start == 10
    assert _log(replace(gone, was_finished=False), *rest).log_start == 0  # a failed attempt
    assert _log(replace(gone, next_offset=25), *rest).log_start == 10
    assert _log(replace(gone, start_offset=5), *rest).log_start == 0
    assert tier_log([gone, *rest], local_start=4, includes_unknown=False).log_start == 4
    deleted = tier_log([gone, *rest], includes_unknown=False, includes_deleted=True)
    assert _shown(deleted)[0] == ("a", 0, 10)


@pytest.mark.parametrize("state", [RemoteState.DELETE_STARTED, RemoteState.DELETE_FINISHED])
def test_deleted_uploads_are_read_on_demand(state: RemoteState) -> None:
    upload = _upload("a", 0, 10, state=state)
    log = _log(upload)
    assert (_shown(log), log.left_out) == ([], {"deleted by the cluster": 1})
    log = tier_log([upload], includes_unknown=False, includes_deleted=True)
    assert _shown(log) == [("a", 0, 10)]


def test_an_unfinished_upload_is_read_only_if_complete_and_alone_with_its_offsets() -> None:
    begun = _upload("a", 0, 10, state=RemoteState.COPY_STARTED)
    log = _log(begun, _upload("b", 10, 20))
    assert (_shown(log), log.unproved) == ([("a", 0, 10), ("b", 10, 20)], frozenset("a"))
    for useless in (replace(begun, unreadable="7 of 9 bytes"), replace(begun, next_offset=12)):
        log = _log(useless, _upload("c", 0, 10), _upload("d", 10, 20))
        assert _shown(log) == [("c", 0, 10), ("d", 10, 20)]
        assert log.left_out == {"unfinished upload": 1}
        assert not log.unproved
    half = replace(begun, unreadable="7 of 9 bytes")
    log = tier_log([half], includes_unknown=True, includes_deleted=True)
    assert (_shown(log), log.left_out, log.gaps) == ([], {"unfinished upload": 1}, ())


def test_an_upload_without_an_event_is_a_candidate_if_events_may_be_missing() -> None:
    upload = _upload("a", 0, 10, state=None)
    log = tier_log([upload], includes_unknown=True)
    assert (_shown(log), log.is_confirmed) == ([("a", 0, 10)], False)
    log = _log(upload, _upload("b", 10, 20), replace(upload, start_offset=20, next_offset=30))
    assert _shown(log) == [("b", 10, 20), ("a", 20, 30)]  # newer than the events
    assert log.left_out == {"unknown to __remote_log_metadata": 1}
    gone = replace(upload, is_deleted=True)
    assert not tier_log([gone], includes_unknown=True).chosen


def test_what_cannot_be_read_is_a_gap_with_its_reason() -> None:
    absent = replace(_upload("a", 0, 10), file=None)
    secret = replace(_upload("b", 10, 20), unreadable="no key")
    log = _log(absent, secret, _upload("c", 15, 30))
    assert log.gaps == (
        RemoteGap(0, 10, "the tier has no object of segment a"),
        RemoteGap(10, 15, "no key"),
    )


def test_nothing_below_the_log_start_is_read_or_missing() -> None:
    absent = replace(_upload("a", 0, 10), file=None)
    log = _log(absent, _upload("b", 10, 20), _upload("c", 20, 30), log_start=20)
    assert (_shown(log), log.gaps) == ([("c", 20, 30)], ())
