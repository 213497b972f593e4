"""What report.sql gives: gaps that stand, drawn as ranges; damaged places; what runs recorded."""

import random
from collections.abc import Iterable

import pytest

from support.lakes import Row
from support.proofs import Proved, ledger


def _gap(start: int, stop: int, cause: str = "missing", attempt: int = 1) -> Row:
    offsets = {"start_offset": start, "next_offset": stop}
    return {**offsets, "cause": cause, "attempt_id": f"attempt {attempt}", "run_id": "r"}


def _drawn(proved: Proved) -> list[tuple[str, int, int, int]]:
    names = ("cause", "start_offset", "next_offset", "offsets")
    rows = ([row[name] for name in names] for row in proved.fact("gap_ranges"))
    return [(str(cause), start, stop, offsets) for cause, start, stop, offsets in rows]


def _joined(gaps: Iterable[tuple[int, int]], tolerance: int) -> list[tuple[int, int]]:
    """Join ranges one by one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(gaps):
        if found and start - found[-1][1] <= tolerance:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def test_repaired_gaps_stand_no_more_and_what_a_repair_left_does() -> None:
    ranges = ledger((0, 100, "ingest", 1), (10, 30, "repair", 2), (100, 120, "ingest", 3))
    gaps = [_gap(10, 30, "quarantined"), _gap(50, 60, "quarantined"), _gap(20, 30, attempt=2)]
    found = _drawn(Proved(checkpoints=[*ranges], gaps=gaps))
    assert found == [("missing", 20, 30, 10), ("quarantined", 50, 60, 10)]


@pytest.mark.parametrize("kind", ["superseded", "refill"])
def test_elections_and_refills_take_gaps_away(kind: str) -> None:
    ranges = ledger((0, 100, "ingest", 1), (40, 100, kind, 2))
    found = _drawn(Proved(checkpoints=[*ranges], gaps=[_gap(10, 20), _gap(50, 60)]))
    assert found == [("missing", 10, 20, 10)]


def test_gaps_of_a_commit_that_is_not_in_the_ledger_are_left_out() -> None:
    gaps = [_gap(2, 3), _gap(50, 52, attempt=7)]
    proved = Proved(checkpoints=[*ledger((0, 100, "ingest", 1))], gaps=gaps)
    assert _drawn(proved) == [("missing", 2, 3, 1)]
    assert proved.fact("recorded_gaps") == [{"run_id": "r", "cause": "missing", "offsets": 1}]


@pytest.mark.parametrize("seed", range(4))
def test_near_gaps_are_drawn_as_one_and_counted_exactly(seed: int) -> None:
    chance, end = random.Random(seed), 40_000
    starts = chance.sample(range(0, end - 500, 7), 400)
    ranges = [(start, start + chance.choice((1, 6, 300))) for start in starts]
    gaps = [_gap(*offsets) for offsets in ranges]
    found = _drawn(Proved(checkpoints=[*ledger((0, end, "ingest", 1))], gaps=gaps))
    assert [offsets for _, *offsets in found] == [
        [start, stop, sum(b - a for a, b in ranges if start <= a < stop)]
        for start, stop in _joined(ranges, end // 500)
    ]


def _damage(position: int, generation: int = 1, **other: object) -> Row:
    return {"position": position, "generation": generation, "run_id": "r", **other}


def _places(*rows: Row, salvaged: Iterable[Row] = ()) -> list[Row]:
    return Proved(quarantine=rows, salvaged_records=[*salvaged]).fact("damaged_places")


def test_place_that_was_made_good_is_resolved_and_comes_last() -> None:
    found = _places(_damage(1), _damage(5), _damage(1, 2, resolution="replica"))
    assert [(place["position"], place["is_resolved"]) for place in found] == [(5, False), (1, True)]


def test_place_that_a_retake_found_again_is_not_resolved() -> None:
    (place,) = _places(_damage(1), _damage(1, 2, resolution="replica"), _damage(1, 3))
    assert not place["is_resolved"]


def test_records_that_were_salvaged_stand_beside_their_damage() -> None:
    of = {"broker_id": 0, "segment": "orders-0/0.log", "position": 1, "raw_sha256": "x"}
    salvaged = [
        {**of, "generation": generation, "offset": generation * 100 + number}
        for generation, count in ((1, 7), (3, 4))
        for number in range(count)
    ]
    rows = [_damage(1), _damage(5), _damage(1, 2, resolution="replica"), _damage(1, 3)]
    found = _places(*rows, salvaged=salvaged)
    assert [(each["position"], each["salvaged_records"]) for each in found] == [(1, 4), (5, 0)]


def test_list_is_cut_and_the_count_is_not() -> None:
    found = _places(*(_damage(position) for position in range(70)))
    assert [each["position"] for each in found] == [*range(50)]
    assert {each["total"] for each in found} == {70}


def test_damaged_bytes_are_in_no_answer() -> None:
    (place,) = _places(_damage(1, raw=b"SECRET"))
    assert "raw" not in place
    assert b"SECRET" not in place.values()
