"""What each query of the proof finds in made-up rows, against slow twins that count one by one."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seglake.kafka_log.offset_gaps import GapCause
from seglake.log_tables.ledger_layers import RangeKind
from support.proofs import Proved, Row, batch, ledger

_HIGH = 1 << 62
_EXAMPLES = settings(max_examples=6)  # of some 30 partitions each, in one run of the proof
_RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)
_SUMS_THAT_NOBODY_MADE = {"equation", "ledger_sums", "bytes"}


def _kinds(proved: Proved) -> set[str]:
    """The problems but those of sums, which made-up ledgers leave out."""
    return proved.problems().keys() - _SUMS_THAT_NOBODY_MADE


@_EXAMPLES
@given(st.lists(st.tuples(_RANGES, _RANGES), min_size=20, max_size=30))
def test_holes_and_overlaps_are_found_as_by_counting_each_offset(
    cases: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]],
) -> None:
    rows: list[Row] = []
    batches: list[Row] = []
    holes, overlaps = set(), set()
    for number, (covered, spans) in enumerate(cases):
        rows += ledger(*((*span, "ingest", 1) for span in covered), partition=number)
        batches += [batch(start, stop - 1, partition=number) for start, stop in spans]
        offsets = {offset for span in covered for offset in range(*span)}
        # A span counts where it ends, from the start of what is covered there.
        counts = dict.fromkeys(offsets, 0)
        for start, stop in spans:
            offset = stop - 1
            while offset >= start and offset in offsets:
                counts[offset] += 1
                offset -= 1
        if 0 in counts.values():
            holes.add(number)
        if any(count > 1 for count in counts.values()):
            overlaps.add(number)
    proved = Proved(checkpoints=rows, batches=batches)
    assert {*proved.by_partition("not_accounted")} == holes
    assert {*proved.by_partition("overlap")} == overlaps


def test_hole_and_overlap_are_named() -> None:
    proved = Proved(checkpoints=[*ledger((0, 12, "ingest", 1))], batches=[batch(0, 9), batch(8, 9)])
    assert proved.problems()["not_accounted"] == ["[10, 12)"]
    assert proved.problems()["overlap"] == ["batch 8 to 9 and batch 0 to 9"]


def test_batches_of_a_refill_lie_over_others_but_over_no_gap_and_not_over_each_other() -> None:
    def found(*batches: tuple[int, int, int]) -> set[str]:
        fills = {(0, 6, "refill", generation) for *_, generation in batches if generation > 1}
        own = [batch(start, stop - 1, generation=number) for start, stop, number in batches]
        proved = Proved(
            checkpoints=[*ledger((0, 10, "ingest", 1), *fills)],
            batches=[batch(0, 5), *own],
            gaps=[{"start_offset": 6, "next_offset": 10}],
        )
        return _kinds(proved) - {"outside_ledger"}

    assert found((0, 6, 2)) == found((2, 4, 2), (2, 4, 3)) == set()
    assert found((4, 7, 2)) == {"overlap"}
    assert found((0, 4, 2), (3, 6, 2)) == {"overlap"}
    assert found((0, 4, 1)) == {"overlap"}


def test_batch_of_a_refill_does_not_lie_over_a_gap_that_the_refill_states() -> None:
    def found(stop: int) -> set[str]:
        return _kinds(
            Proved(
                checkpoints=[*ledger((0, 10, "ingest", 1), (0, 10, "refill", 2))],
                batches=[batch(0, 5), batch(4, stop - 1, generation=2)],
                gaps=[{"start_offset": 6, "next_offset": 10, "attempt_id": "attempt 2"}],
            )
        )

    assert found(6) == set()
    assert found(7) == {"overlap"}


@_EXAMPLES
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 70), st.integers(0, 2)), max_size=12),
        min_size=20,
        max_size=30,
    )
)
def test_records_are_judged_as_by_looking_at_each(cases: list[list[tuple[int, int]]]) -> None:
    rows: list[Row] = []
    records: list[Row] = []
    twice, outside, alone = {}, {}, {}
    for number, placed in enumerate(cases):
        rows += ledger((0, 60, "ingest", 1), partition=number)
        records += [
            {"offset": offset, "batch_base_offset": base, "partition": number}
            for offset, base in placed
        ]
        inside = [(offset, base) for offset, base in placed if offset < 60]
        offsets = [offset for offset, _ in inside]
        twice[number] = {offset for offset in offsets if offsets.count(offset) > 1}
        outside[number] = len(placed) - len(inside)
        alone[number] = {base for _, base in inside}
    proved = Proved(checkpoints=rows, records=records)
    found = proved.by_partition("offset_twice")
    assert {n: {row["place"] for row in found.get(n, ())} for n in twice} == twice
    found = proved.by_partition("outside_ledger")
    assert {n: sum(row["number"] for row in found.get(n, ())) for n in outside} == outside
    found = proved.by_partition("row_without_batch")
    assert {n: {row["place"] for row in found.get(n, ())} for n in alone} == alone


def test_offset_that_two_batches_have_is_there_twice() -> None:
    records = [{"offset": 40, "batch_base_offset": base} for base in (0, 35)]
    proved = Proved(checkpoints=[*ledger((0, 60, "ingest", 1))], records=records)
    assert proved.problems()["offset_twice"] == ["offset 40"]


def test_sums_of_large_offsets_do_not_overflow() -> None:
    records = [{"offset": _HIGH + n, "batch_base_offset": _HIGH} for n in (1, 9)]
    proved = Proved(checkpoints=[*ledger((_HIGH, _HIGH + 10, "ingest", 1))], records=records)
    (sums,) = proved.fact("totals")
    assert (sums["records"], sums["offset_sum"]) == (2, 2 * _HIGH + 10)
    assert (sums["key_bytes"], sums["value_bytes"]) == (2, 4)


@pytest.mark.parametrize("time_ms", [None, -1])
def test_null_is_no_bytes_and_kafkas_minus_one_is_no_time(time_ms: int | None) -> None:
    record = {"offset": 3, "batch_base_offset": 0, "key": None, "timestamp_ms": time_ms}
    proved = Proved(checkpoints=[*ledger((0, 10, "ingest", 1))], records=[record])
    (sums,) = proved.fact("totals")
    assert sums["key_bytes"] == 0
    assert (sums["min_timestamp_ms"], sums["max_timestamp_ms"]) == (None, None)


def test_a_batch_that_begins_before_its_range_counts_from_the_range_on() -> None:
    ranges = ledger((0, 10, "ingest", 1), (10, 30, "ingest", 1))
    found = Proved(checkpoints=[*ranges], batches=[batch(7, 12)]).derived("block_sums")
    assert {row["block_start"]: row["other_span"] for row in found} == {0: 0, 10: 3}


def test_a_batch_whose_rows_are_not_those_it_counts_is_named() -> None:
    proved = Proved(
        checkpoints=[*ledger((0, 30, "ingest", 1))],
        batches=[batch(0, 4, 5, "decoded"), batch(5, 9, 2, "decoded"), batch(40, 49)],
        records=[
            *({"offset": offset, "batch_base_offset": 0} for offset in (0, 1, 2, 6)),
            {"offset": 7, "batch_base_offset": 7},
        ],
    )
    found = proved.problems()
    assert found["row_count"] == [
        "batch 0 to 4 counts 5 and has 4",
        "batch 5 to 9 counts 2 and has 0",
    ]
    assert found["outside_ledger"] == ["batches has offsets 40 to 49"]
    assert found["row_without_batch"] == ["batch_base_offset 7 has offsets 7 to 7"]
    assert found["row_outside_batch"] == ["batch_base_offset 0 has offsets 0 to 6"]


def _gap(start: int, stop: int, cause: str = "deleted", **more: object) -> Row:
    return {"start_offset": start, "next_offset": stop, "cause": cause, **more}


def _gap_problems(*gaps: Row) -> dict[str, list[str]]:
    ranges = ledger((0, 20, "ingest", 1), (30, 50, "ingest", 2))
    proved = Proved(checkpoints=[*ranges], gaps=gaps).problems()
    about_gaps = {
        *("outside_ledger", "unknown_cause", "no_evidence", "missing"),
        *("unknown_attempt", "gap_beyond_coverage"),
    }
    return {name: said for name, said in proved.items() if name in about_gaps}


def test_gaps_that_explain_nothing_are_named_each_with_its_reason() -> None:
    gaps = [_gap(2, 3, "missing"), _gap(4, 5, "quarantined"), _gap(6, 7, "moths"), _gap(25, 26)]
    assert _gap_problems(*gaps, _gap(8, 9), _gap(10, 12, "compacted")) == {
        "outside_ledger": ["gaps has offsets [25, 26)"],
        "unknown_cause": ["[6, 7) 'moths'"],
        "no_evidence": ["[4, 5)"],
        "missing": ["[2, 3)"],
    }


def test_a_gap_beyond_its_range_or_of_an_attempt_elsewhere_is_named() -> None:
    assert _gap_problems(_gap(15, 25)) == {"gap_beyond_coverage": ["[15, 25)"]}
    assert _gap_problems(_gap(2, 3, attempt_id="attempt 2")) == {
        "unknown_attempt": ["[2, 3) of attempt 2"]
    }


def test_every_cause_and_every_kind_of_range_is_known() -> None:
    gaps = [_gap(number, number + 1, cause) for number, cause in enumerate(GapCause)]
    ranges = [(0, 20, kind, number + 1) for number, kind in enumerate(RangeKind)]
    found = Proved(checkpoints=[*ledger(*ranges)], gaps=gaps).problems()
    assert not {"unknown_cause", "unknown_kind"} & found.keys()


@pytest.mark.parametrize(
    ("gap", "stands"),
    [
        ((0, 5, 1), True),  # no repair holds its start
        ((10, 20, 1), False),  # a later repair does
        ((12, 14, 2), True),  # of that repair
        ((12, 14, 3), True),  # of a later commit
        ((12, 14, 9), False),  # nobody knows how old it is, and it was repaired
        ((22, 25, 9), True),
    ],
)
def test_a_gap_stands_unless_a_later_repair_holds_its_start(
    gap: tuple[int, int, int], *, stands: bool
) -> None:
    ranges = ledger((0, 30, "ingest", 1), (10, 20, "repair", 2), (12, 14, "ingest", 3))
    own = _gap(*gap[:2], attempt_id=f"attempt {gap[2]}")
    (found,) = Proved(checkpoints=[*ranges], gaps=[own]).derived("placed_gaps")
    assert found["stands"] is stands


@_EXAMPLES
@example([([(low, high)], (10, 5)) for low in (9, 14, 15) for high in (10, 11, 20)])
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(st.none() | st.integers(0, 30), st.none() | st.integers(0, 30)),
                max_size=3,
            ),
            st.tuples(st.integers(0, 30), st.integers(1, 8)),
        ),
        min_size=20,
        max_size=30,
    )
)
def test_damage_explains_a_gap_that_lies_where_it_hides_offsets(
    cases: list[tuple[list[tuple[int | None, int | None]], tuple[int, int]]],
) -> None:
    rows: list[Row] = []
    gaps: list[Row] = []
    damage: list[Row] = []
    unexplained = set()
    for number, (spans, (start, length)) in enumerate(cases):
        stop = start + length
        rows += ledger((0, 40, "ingest", 1), partition=number)
        gaps.append(_gap(start, stop, "quarantined", partition=number))
        damage += [
            {
                "partition": number,
                "position": place,
                "previous_offset": low,
                "next_offset": high,
            }
            for place, (low, high) in enumerate(spans)
        ]
        hides = [
            (low is None or low < stop) and (high is None or high > start) for low, high in spans
        ]
        if not any(hides):
            unexplained.add(number)
    proved = Proved(checkpoints=rows, gaps=gaps, quarantine=damage)
    assert {*proved.by_partition("no_evidence")} == unexplained


def test_a_span_that_two_runs_found_counts_twice_and_a_resolution_does_not() -> None:
    rows: list[Row] = [{"generation": 1}, {"generation": 2}]
    rows.append({"generation": 3, "resolution": "sibling"})
    (found,) = Proved(quarantine=rows).fact("damage_counts")
    assert (found["spans"], found["found_spans"], found["found_bytes"]) == (1, 2, 14)
    assert found["resolved"] == 1


def test_ranges_of_a_commit_that_share_offsets_are_one_block_and_those_that_touch_are_not() -> None:
    shared = [(0, 10), (10, 20), (12, 15), (30, 40), (50, 50)]
    proved = Proved(checkpoints=[*ledger(*((*each, "ingest", 1) for each in shared))])
    assert sorted(row["block_start"] for row in proved.derived("pieces")) == [0, 10, 30]
    assert sorted(row["covered_start"] for row in proved.derived("covered")) == [0, 30]


def test_an_election_cuts_the_ranges_of_earlier_commits_only() -> None:
    ranges = ledger((0, 120, "ingest", 1), (96, 120, "superseded", 2), (96, 110, "retake", 3))
    proved = Proved(checkpoints=[*ranges])
    pieces = {
        (row["generation"], row["piece_start"], row["piece_next"], row["is_current"])
        for row in proved.derived("pieces")
    }
    assert pieces == {(1, 0, 96, True), (1, 96, 120, False), (3, 96, 110, True)}
    (covered,) = proved.derived("covered")
    assert (covered["covered_start"], covered["covered_next"]) == (0, 110)


def test_an_election_inside_of_what_another_took_cuts_no_piece() -> None:
    ranges = ledger((0, 120, "ingest", 1), (50, 120, "superseded", 2), (80, 120, "superseded", 4))
    pieces = Proved(checkpoints=[*ranges]).derived("pieces")
    assert sorted(row["piece_start"] for row in pieces) == [0, 50]


def test_records_of_a_batch_across_an_election_count_where_each_lies() -> None:
    ranges = ledger((0, 20, "ingest", 1), (10, 20, "superseded", 2))
    records = [{"offset": offset, "batch_base_offset": 8} for offset in (8, 9, 10, 11, 12)]
    totals = Proved(checkpoints=[*ranges], records=records).fact("totals")
    assert {row["part"]: row["records"] for row in totals} == {"current": 2, "lost": 3}


class _Batch(NamedTuple):
    """A batch, and how many offsets in front of it are in none."""

    hole: int
    records: int
    producer_id: int
    control_type: str | None
    state: str


_HOLES = st.sampled_from([0, 0, 0, 0, 2])
_PRODUCERS = st.integers(1, 2)
_STATES = st.sampled_from(["committed", "aborted", "open", "none"])
_DATA = st.builds(_Batch, _HOLES, st.integers(1, 3), _PRODUCERS, st.none(), _STATES)
_TYPES = st.sampled_from(["commit", "abort"])
_MARKERS = st.builds(_Batch, _HOLES, st.just(1), _PRODUCERS, _TYPES, st.just("none"))


def _placed(made: Sequence[_Batch], partition: int) -> list[Row]:
    found, offset = [], 0
    for hole, records, producer_id, control_type, state in made:
        offset += hole
        own = batch(offset, offset + records - 1, records, "decoded", partition=partition)
        own |= {"producer_id": producer_id, "control_type": control_type}
        found.append(own | {"transaction_state": state})
        offset += records
    return found


def _denied(batches: Sequence[Row]) -> set[int]:
    """The markers of transactions that say something else than their data."""
    found = set()
    there = {o for each in batches for o in range(each["base_offset"], each["last_offset"] + 1)}
    for index, data in enumerate(batches):
        if data["transaction_state"] not in ("committed", "aborted"):
            continue
        for marker in batches[index + 1 :]:
            if marker["control_type"] and marker["producer_id"] == data["producer_id"]:
                between = range(data["base_offset"], marker["base_offset"])
                is_other = not data["transaction_state"].startswith(marker["control_type"])
                if there.issuperset(between) and is_other:
                    found.add(marker["base_offset"])
                break
    return found


def _waiting(batches: Sequence[Row]) -> dict[int, int]:
    """The records of each producer behind its last marker."""
    counts: dict[int, int] = {}
    for each in batches:
        if each["control_type"]:
            counts.pop(each["producer_id"], None)
        elif each["transaction_state"] == "open":
            before = counts.get(each["producer_id"], 0)
            counts[each["producer_id"]] = before + each["row_count"]
    return counts


@_EXAMPLES
@given(st.lists(st.lists(_DATA | _MARKERS, max_size=14), min_size=20, max_size=30))
def test_transactions_are_judged_as_by_following_each(cases: list[list[_Batch]]) -> None:
    batches: list[Row] = []
    rows: list[Row] = []
    denied, waiting = {}, {}
    for number, made in enumerate(cases):
        own = _placed(made, number)
        batches += own
        rows += ledger((0, 1000, "ingest", 1), partition=number)
        denied[number], waiting[number] = _denied(own), _waiting(own)
    proved = Proved(checkpoints=rows, batches=batches)
    found = proved.by_partition("outcome")
    assert {n: {row["place"] for row in found.get(n, ())} for n in denied} == denied
    names = {row["log"]: row["partition"] for row in proved.fact("logs")}
    counts: dict[int, dict[int, int]] = {number: {} for number in waiting}
    for row in proved.fact("open_transactions"):
        counts[names[row["log"]]][row["producer_id"]] = row["records"]
    assert counts == waiting
