"""Damaged places: which still stand, which are not committed, how many are listed."""

from seglake.pipelines.lake_report.damage import COLUMNS, damage_by_log
from support.lakes import Row
from support.reports import ledger_of, ledger_row


def _row(position: int, generation: int = 1, **other: object) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    return row | {
        "source_id": "c1",
        "topic_id": None,
        "topic": "orders",
        "partition": 0,
        "segment": "orders-0/0.log",
        "position": position,
        "defect_code": "crc_mismatch",
        "raw_sha256": "00",
        "generation": generation,
        **other,
    }


def test_place_that_was_made_good_is_resolved_and_comes_last() -> None:
    ledger, log = ledger_of(ledger_row(0, 10), ledger_row(2, 4, 2, kind="repair"))
    rows = [_row(1), _row(5), _row(1, 2, resolution="replica", defect_code="crc_mismatch")]
    found = damage_by_log(rows, ledger, {})[log]
    assert [(place.position, place.is_resolved) for place in found.places] == [
        (5, False),
        (1, True),
    ]
    assert found.place_count == 2


def test_place_that_a_retake_met_again_is_not_resolved() -> None:
    ledger, log = ledger_of(*(ledger_row(0, 10, number) for number in (1, 2, 3)))
    rows = [_row(1), _row(1, 2, resolution="replica"), _row(1, 3)]
    (place,) = damage_by_log(rows, ledger, {})[log].places
    assert not place.is_resolved


def test_records_that_were_salvaged_stand_beside_their_damage() -> None:
    ledger, log = ledger_of(*(ledger_row(0, 10, number) for number in (1, 2, 3)))
    rows = [_row(1), _row(5), _row(1, 2, resolution="replica"), _row(1, 3)]
    place = ("c1", "orders", 0, None, "orders-0/0.log")
    salvaged = {(*place, 1, "00", 1): 7, (*place, 1, "00", 3): 4}
    found = damage_by_log(rows, ledger, salvaged)[log]
    assert [(each.position, each.salvaged_records) for each in found.places] == [(1, 4), (5, 0)]


def test_damage_of_a_commit_that_is_not_in_the_ledger_is_left_out() -> None:
    ledger, _ = ledger_of(ledger_row(0, 10))
    assert damage_by_log([_row(1, 2)], ledger, {}) == {}


def test_list_is_cut_and_the_count_is_not() -> None:
    ledger, log = ledger_of(ledger_row(0, 10))
    found = damage_by_log((_row(position) for position in range(70)), ledger, {})[log]
    assert (len(found.places), found.place_count) == (50, 70)
    assert found.places[0].position == 0


def test_damaged_bytes_are_not_read() -> None:
    assert "raw" not in COLUMNS
