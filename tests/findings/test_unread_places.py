"""Places that no run has read are added to what was recovered, each offset under one cause."""

import pytest

from seglake.findings.loss_causes import UNKNOWN, Loss
from seglake.findings.recovery import PartitionRecovery
from seglake.findings.unread_places import loss_of, recovery_with, with_unread
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import NOT_ON_DISK, UnreadPlace
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey

_FILE = UnreadPlace("/disk/a-0/00000000000000000000.log", "it is damaged", ((0, 10),))
_GONE = UnreadPlace("/disk/a-0", f"{NOT_ON_DISK}a file names it", ((5, 20),))
_NAMED = UnreadPlace.named_only(PartitionKey("b", 1, "id"))


def _gaps(*ranges: OffsetRange) -> GapRanges:
    return GapRanges.of(ranges)


def test_offsets_of_an_unread_file_have_one_cause() -> None:
    lost = {Loss.HIGH_WATERMARK: _gaps((5, 20)), Loss.MISSING: _gaps((2, 3))}
    found = with_unread(PartitionRecovery(name="a-0", records=1, lost=lost), [_FILE])
    assert found.lost == {
        Loss.HIGH_WATERMARK: _gaps((10, 20)),
        Loss.MISSING: _gaps((2, 3)),
        Loss.LEFT_OUT: _gaps((0, 10)),
    }


def test_a_cause_without_other_offsets_is_gone_and_left_out_ranges_are_joined() -> None:
    lost = {Loss.REFUSED: _gaps((0, 4)), Loss.LEFT_OUT: _gaps((10, 12))}
    found = with_unread(PartitionRecovery(name="a-0", records=1, lost=lost), [_FILE])
    assert found.lost == {Loss.LEFT_OUT: _gaps((0, 12))}


def test_an_unknown_number_of_offsets_stays_unknown() -> None:
    lost = {Loss.REFUSED: UNKNOWN}
    found = with_unread(PartitionRecovery(name="a-0", records=1, lost=lost), [_FILE])
    assert found.lost == {Loss.REFUSED: UNKNOWN, Loss.LEFT_OUT: _gaps((0, 10))}


@pytest.mark.parametrize("name", ["a-0", "a-1"])
def test_places_of_other_partitions_and_places_on_no_disk_change_nothing(name: str) -> None:
    known = PartitionRecovery(name=name, records=1, lost={Loss.REFUSED: _gaps((0, 30))})
    assert with_unread(known, [_GONE] if name == "a-0" else [_FILE]) is known


@pytest.mark.parametrize(
    ("place", "cause"),
    [(_FILE, Loss.LEFT_OUT), (_GONE, Loss.NOT_ON_DISK), (_NAMED, Loss.NAMED_ONLY)],
)
def test_the_cause_says_whether_a_disk_has_the_place(place: UnreadPlace, cause: Loss) -> None:
    assert loss_of(place) is cause


def test_partitions_that_only_unread_places_name_are_added_with_their_offsets() -> None:
    known = [PartitionRecovery(name="c-0", records=1)]
    folder = UnreadPlace("/disk/c-0", "it cannot be read")
    odd = UnreadPlace("/disk/notes.txt", "it is no\nsegment")
    file = UnreadPlace("/disk/d-0/00000000000000000000.log", "it is cut", ((0, 1),))
    found = recovery_with(known, [_FILE, _GONE, _NAMED, folder, odd, file])
    added = {each.name: each.lost for each in found.partitions[1:]}
    assert added == {"a-0": {Loss.NOT_ON_DISK: _gaps((5, 20))}, "b-1": {Loss.NAMED_ONLY: UNKNOWN}}
    assert list(found.unread) == [
        "it is damaged",
        _GONE.reason,
        "it cannot be read",
        "it is no\\nsegment",
        "it is cut",
    ]
