"""What lost an election after it was ingested is ingested again; the old rows stay as history."""

import shutil
from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_retake.retake_plan import Selection
from support import broker_disks
from support.accounts import imbalances_of
from support.audits import audited, checked, kinds
from support.cases import cases, every
from support.dying import Died, dying
from support.lakes import ingested, retaken, versions
from support.oracle import expected_records
from support.views import records_in, viewed

_SCENARIO = "08_replicas"
_PARTITIONS = (0, 1, 2)
_ELECTION = {0: 169, 1: 96, 2: 80}  # where the epochs of "diverged" part
_WON = {0: 188, 1: 133, 2: 105}  # the end of broker 2, which won
_LOST = {0: 234, 1: 145, 2: 111}
_TO_LOG_END = {"upper_bound": "log_end"}


def _disk(broker: str) -> Path:
    return broker_disks.log_dir(_SCENARIO, "diverged", broker)


def _consumed(partition: int) -> list[object]:
    """What Kafka's consumer got after the election."""
    return [*expected_records(_SCENARIO, "diverged", "rep", partition)]


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lakes to look at: `loser` has the rows of the log that lost, `lost` knows that it did, and
    `retaken` has been mended."""
    folder = tmp_path_factory.mktemp("elected")
    ingested(_disk("broker0"), folder / "loser", read=_TO_LOG_END)
    shutil.copytree(folder / "loser", folder / "lost")
    assert ingested(_disk("broker2"), folder / "lost").exit_code == 3
    shutil.copytree(folder / "lost", folder / "retaken")
    assert retaken(folder / "retaken", _disk("broker2")).exit_code == 0
    return folder


@pytest.fixture
def lost(lakes: Path, lake: Path) -> Path:
    """A lake whose rows lost an election after they were ingested."""
    return shutil.copytree(lakes / "lost", lake)


# --- an unclean election, by real brokers -------------------------------------------------------


def test_rows_that_lost_an_election_are_named_until_they_are_retaken(lakes: Path) -> None:
    found = audited(lakes / "lost")
    assert (found.exit_code, kinds(found)) == (3, {"superseded"})
    text = to_text(found)
    for partition in _PARTITIONS:
        span = f"[{_ELECTION[partition]}, {_LOST[partition]})"
        mend = f"`seglake retake --topics rep --partition {partition}`"
        assert f"{span} (to ingest them again: {mend})" in text
    assert all(check.has_problem for check in checked(_disk("broker2"), lakes / "lost"))
    after = audited(lakes / "retaken")
    assert (after.exit_code, kinds(after)) == (0, set())
    assert not any(check.has_problem for check in checked(_disk("broker2"), lakes / "retaken"))
    assert "history  65 superseded records in 4 batches" in to_text(after)


@pytest.mark.parametrize("partition", _PARTITIONS)
def test_current_records_are_those_of_a_consumer_of_the_log_that_won(
    lakes: Path, partition: int
) -> None:
    lost_records = [*expected_records(_SCENARIO, "follower_down", "rep", partition)]
    start = _ELECTION[partition]
    consumed = _consumed(partition)
    assert records_in(lakes / "lost", "current_records", partition) == consumed[:start]
    lake = lakes / "retaken"
    assert records_in(lake, "current_records", partition) == consumed
    superseded = lost_records[start : _LOST[partition]]
    assert records_in(lake, "superseded_records", partition) == superseded
    assert len(superseded) == _LOST[partition] - start
    for view in ("settled_records", "readable_records"):
        assert records_in(lake, view, partition) == consumed


def test_lakes_add_up_before_and_after_a_retake(lakes: Path) -> None:
    assert [imbalances_of(lakes / name) for name in ("loser", "lost", "retaken")] == [[], [], []]


def test_the_views_of_the_ledger_follow(lakes: Path) -> None:
    def numbers(name: str) -> list[tuple[object, ...]]:
        text = (
            "SELECT partition, next_offset, covered, records, superseded, left_above FROM "
            "last_offsets JOIN completeness USING (topic, partition) ORDER BY partition"
        )
        return [tuple(row.values()) for row in viewed(lakes / name, text)]

    assert numbers("lost") == [
        (p, _LOST[p], _ELECTION[p], _ELECTION[p], _LOST[p] - _ELECTION[p], 0) for p in _PARTITIONS
    ]
    assert numbers("retaken") == [(p, _WON[p], _WON[p], _WON[p], 0, 0) for p in _PARTITIONS]


def test_a_second_retake_and_a_second_ingest_find_nothing_to_do(lost: Path) -> None:
    summary = retaken(lost, _disk("broker2"))
    assert summary.records == sum(_WON[p] - _ELECTION[p] for p in _PARTITIONS)
    assert summary.released == [(f"rep-{p}", (_WON[p], _LOST[p])) for p in _PARTITIONS]
    before = versions(lost)
    again = retaken(lost, _disk("broker2"))
    assert (again.exit_code, again.retaken, again.released) == (0, [], [])
    assert ingested(_disk("broker2"), lost).exit_code == 0
    assert versions(lost) == before


def test_a_dry_run_says_the_ranges_and_writes_nothing(lost: Path) -> None:
    before = sorted(path for path in lost.rglob("*"))
    summary = retaken(lost, _disk("broker2"), dry_run=True)
    assert summary.planned == [(f"rep-{p}", (_ELECTION[p], _WON[p])) for p in _PARTITIONS]
    assert "would be ingested again; nothing was written" in summary.to_text()
    assert sorted(path for path in lost.rglob("*")) == before


def test_the_log_that_lost_is_not_retaken(lost: Path) -> None:
    before = versions(lost)
    summary = retaken(lost, _disk("broker0"))
    assert (summary.exit_code, summary.retaken) == (3, [])
    assert (
        "won, or an old copy of it: the lake has leader epoch 4, but this log" in summary.to_text()
    )
    assert versions(lost) == before


def test_only_the_partitions_that_are_named_are_retaken(lost: Path) -> None:
    summary = retaken(lost, _disk("broker2"), selection=Selection(frozenset({1})))
    assert {name for name, _ in summary.retaken} == {"rep-1"}
    again = retaken(lost, _disk("broker2"), selection=Selection(frozenset({1})))
    assert (again.exit_code, again.to_text()[:34]) == (0, "nothing to retake in 1 partition (")
    assert [bool(each.problems) for each in audited(lost).partitions].count(True) == 2


@pytest.mark.parametrize(
    ("selection", "topics", "said"),
    [
        (
            Selection(frozenset({1, 9, 12})),
            ["rep"],
            r"has no partition 9, 12 of the selected topics\. There are 0, 1, 2$",
        ),
        (Selection(), ["repp"], r"of the lake is selected by repp \(did you mean rep\?\)"),
    ],
)
def test_a_name_that_selects_nothing_is_a_wrong_call(
    lakes: Path, selection: Selection, topics: list[str], said: str
) -> None:
    with pytest.raises(WrongCallError, match=said):
        retaken(lakes / "lost", _disk("broker2"), selection=selection, select={"topics": topics})


def test_a_glob_that_selects_nothing_is_named_beside_one_that_does(lost: Path) -> None:
    summary = retaken(
        lost, _disk("broker2"), dry_run=True, select={"topics": ["rep", "rpe", "r?e"]}
    )
    assert (
        summary.findings.reasons(FindingKind.LEFT_OUT)["rpe"]
        == "rpe selects no topic of the lake; did you mean rep?"
    )
    assert "r?e selects no topic of the lake; did you mean rep?" in summary.notes
    assert summary.exit_code == 3


# --- killed, and beside others -----------------------------------------------------------------

_STEPS = ("redo", "records", "batches", "quarantine", "gaps", "checkpoints")


@pytest.mark.parametrize("step", cases(_STEPS, telling=every(2, _STEPS)))
def test_a_run_that_dies_while_it_finds_the_election_is_completed(
    lakes: Path, lake: Path, step: str
) -> None:
    shutil.copytree(lakes / "loser", lake)
    with pytest.raises(Died):
        ingested(_disk("broker2"), lake, after=dying(step))
    ingested(_disk("broker2"), lake)
    assert len(viewed(lake, "SELECT * FROM superseded_ranges")) == len(_PARTITIONS)
    assert kinds(audited(lake)) == {"superseded"}
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("step", cases(_STEPS, telling=every(2, _STEPS[1:])))
def test_a_retake_that_dies_is_completed_by_the_next(lost: Path, step: str) -> None:
    with pytest.raises(Died):
        retaken(lost, _disk("broker2"), after=dying(step))
    assert retaken(lost, _disk("broker2")).exit_code == 0
    assert audited(lost).exit_code == 0
    for partition in _PARTITIONS:
        assert records_in(lost, "current_records", partition) == _consumed(partition)
    assert imbalances_of(lost) == []


def test_of_two_retakes_at_once_one_brings_the_rows(lost: Path) -> None:
    others: list[int] = []

    def meanwhile(step: str) -> None:
        if step == "redo" and not others:
            others.append(0)
            others.append(retaken(lost, _disk("broker2")).records)

    summary = retaken(lost, _disk("broker2"), after=meanwhile)
    expected = sum(_WON[p] - _ELECTION[p] for p in _PARTITIONS)
    assert (summary.exit_code, {summary.records, others[1]}) == (0, {0, expected})
    assert audited(lost).exit_code == 0
    assert imbalances_of(lost) == []
