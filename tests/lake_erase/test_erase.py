"""Erased records leave `records` at once and for good, and the ledger accounts for them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from seglake.errors import WrongCallError
from seglake.lake.errors import NotALakeError
from seglake.pipelines.lake_audit.disk_check import disk_check_report
from seglake.pipelines.lake_erase.erase import EraseChoice
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.settings.topic_selection import NothingSelectedError
from seglake.task_engine.engine import Engine
from support.audits import audited, checked
from support.dying import Died, dying
from support.erasures import Chosen, erased, places_of
from support.lake_accounts import unpublished
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.people import people_disk, value_of
from support.typed_lakes import elected_disk

_KEY = "ann's key"
_SECRET = "a secret of ann"
_WHERE = f"value_text LIKE '{_SECRET}%'"
_OF_ANN = [0, 3, 6, 9, 12, 15, 18]
_STEPS = ("erasures", "redo", "records", "batches", "quarantine", "gaps", "checkpoints", "cleaned")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk with offsets 0 to 19 of orders, and of payments, and its lake."""
    folder = tmp_path_factory.mktemp("people")
    ingested(people_disk(folder / "disk", 20), folder / "lake")
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


@pytest.fixture
def disk(lake: Path) -> Path:
    return lake.parent / "disk"


def offsets(lake: Path, topic: str = "orders") -> list[int]:
    """The offsets in `records`; a retake leaves its old rows beside the new ones."""
    rows = [row for row in read_table(lake, "records") if row["topic"] == topic]
    return sorted({row["offset"] for row in rows})


def gaps(lake: Path) -> list[tuple[int, int]]:
    rows = [row for row in read_table(lake, "gaps") if row["cause"] == "erased"]
    return sorted((row["start_offset"], row["next_offset"]) for row in rows)


# Any: a rule has columns of many types.
def rules(lake: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(lake / "erasures")).to_pyarrow_table().to_pylist()
    return found


def others(stop: int) -> list[int]:
    return [offset for offset in range(stop) if offset % 3]


def is_proved(lake: Path, *disks: Path) -> bool:
    compared = [check for disk in disks for check in checked(disk, lake)]
    is_same = disk_check_report.exit_code(compared) == 0
    return unpublished(lake) == [] and is_same and audited(lake).exit_code == 0


@pytest.mark.parametrize("choice", [{"key": _KEY}, {"where": _WHERE}], ids=["key", "where"])
def test_records_leave_the_table_and_their_offsets_become_gaps(
    lake: Path, disk: Path, engine: Engine, choice: Chosen
) -> None:
    summary = erased(lake, **choice, engine=engine)
    assert offsets(lake) == others(20)
    assert offsets(lake, "payments") == [*range(20)]
    assert gaps(lake) == [(offset, offset + 1) for offset in _OF_ANN]
    [row] = [row for row in read_table(lake, "checkpoints") if row["kind"] == "erased"]
    assert (row["start_offset"], row["next_offset"], row["records"]) == (0, 20, 7)
    assert (row["offset_sum"], row["key_bytes"]) == (sum(_OF_ANN), 7 * len(_KEY))
    assert row["value_bytes"] == sum(len(value_of(offset)) for offset in _OF_ANN)
    assert is_proved(lake, disk)
    assert summary.exit_code == 0
    assert summary.to_text().startswith("7 records of 1 topic erased (")


def test_adjacent_offsets_of_a_batch_are_one_gap(lake: Path) -> None:
    erased(lake, where='"offset" BETWEEN 4 AND 8')
    assert gaps(lake) == [(4, 5), (5, 9)]
    assert is_proved(lake)


def test_only_files_with_matching_records_are_written_again(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for stop in (3, 5, 6, 8):  # Ann's orders are in the first and in the third file
        ingested(people_disk(tmp_path / "disk", stop, batch_records=1, topics=["orders"]), lake)
    before = set(DeltaTable(str(lake / "records")).file_uris())
    summary = erased(lake, key=_KEY)
    after = set(DeltaTable(str(lake / "records")).file_uris())
    assert (len(before), len(before & after), len(after - before)) == (4, 1, 3)
    [topic] = summary.topics
    assert (topic.files, topic.read_files) == (3, 4)


def test_rule_has_no_payload_and_says_when_and_why(lake: Path) -> None:
    erased(lake, key=_KEY)
    [rule] = rules(lake)
    assert (rule["topic"], rule["kind"], rule["reason"]) == ("orders", "key", "ticket 7")
    assert rule["erased_at"] is not None
    assert (len(rule["salt"]), len(rule["hash"])) == (16, 32)
    assert places_of(lake / "erasures", b"ann") == []


def test_rules_of_a_topic_have_one_salt(lake: Path) -> None:
    erased(lake, key=_KEY)
    erased(lake, key="bob's key")
    erased(lake, where=_WHERE)
    erased(lake, where='"offset" = 2')
    assert [rule["kind"] for rule in rules(lake)].count("key") == 2
    assert len({rule["salt"] for rule in rules(lake)}) == 1


def elected_lake(tmp_path: Path, between: Callable[[Path], object]) -> Path:
    """A lake with a topic `t` of which offsets 1 and 2 lost an election and were retaken.

    Args:
        tmp_path: folder of the disks.
        between: called with the lake when it has the loser's rows only.
    """
    lake = tmp_path / "lake"
    loser = elected_disk(tmp_path / "loser", (1, [b"ann 0", b"ann 1", b"ann 2"]), broker_id=0)
    ingested(loser, lake)
    between(lake)
    winner = elected_disk(
        tmp_path / "winner", (1, [b"ann 0"]), (3, [b"ann 1 again", b"bob 2"]), broker_id=1
    )
    ingested(winner, lake)
    retaken(lake, winner)
    return lake


def test_rows_that_lost_an_election_are_erased_too(tmp_path: Path) -> None:
    lake = elected_lake(tmp_path, between=lambda lake: None)
    erased(lake, where="value_text LIKE 'ann%'", topics=["t"])
    assert [row["value"] for row in read_table(lake, "records")] == [b"bob 2"]
    assert gaps(lake) == [(0, 1), (1, 2)]
    assert is_proved(lake)


def test_election_after_an_erasure_keeps_the_proof(tmp_path: Path) -> None:
    lake = elected_lake(
        tmp_path, between=lambda lake: erased(lake, where='"offset" < 2', topics=["t"])
    )
    values = [row["value"] for row in read_table(lake, "records")]
    assert sorted(values) == [b"ann 1 again", b"ann 2", b"bob 2"]
    assert is_proved(lake)


def test_same_erasure_stores_its_rule_once_and_changes_nothing_more(lake: Path) -> None:
    erased(lake, key=_KEY)
    before = read_table(lake, "records"), rules(lake)
    summary = erased(lake, key=_KEY)
    assert (read_table(lake, "records"), rules(lake)) == before
    said = "no row of records of 1 topic matches; the rule is stored, and later runs skip"
    assert summary.to_text().startswith(said)
    summary = erased(lake, key=_KEY, dry_run=True)
    said = "no row of records of 1 topic matches; nothing was stored ("
    assert summary.to_text().startswith(said)


def test_headline_counts_the_topics_that_had_such_records(lake: Path) -> None:
    where, topics = "topic = 'orders'", ["orders", "payments"]
    summary = erased(lake, where=where, topics=topics)
    assert summary.to_text().startswith("20 records of 1 topic erased (")
    summary = erased(lake, where=where, topics=topics)
    assert summary.to_text().startswith("no row of records of 2 topics matches (")


def test_dry_run_counts_and_changes_nothing(lake: Path) -> None:
    versions = {path: len([*path.glob("*.json")]) for path in lake.glob("*/_delta_log")}
    summary = erased(lake, key=_KEY, dry_run=True)
    assert summary.to_text().startswith("7 records of 1 topic would be erased (")
    assert versions == {path: len([*path.glob("*.json")]) for path in lake.glob("*/_delta_log")}


def test_key_that_is_written_later_is_left_out_and_accounted_for(
    lake: Path, tmp_path: Path, engine: Engine
) -> None:
    erased(lake, key=_KEY)
    disk = people_disk(tmp_path / "disk", 40)
    summary = ingested(disk, lake, engine=engine)
    assert offsets(lake) == others(40)
    assert offsets(lake, "payments") == [*range(40)]
    assert summary.exit_code == 0
    assert summary.notes == [
        "7 records not ingested, because an erasure rule matches them: orders-0 (7)"
    ]
    assert is_proved(lake, disk)


def test_record_of_a_condition_is_not_brought_back_but_later_records_are_ingested(
    lake: Path, tmp_path: Path
) -> None:
    erased(lake, where=_WHERE)
    disk = people_disk(tmp_path / "disk", 25)
    ingested(disk, lake)
    retaken(lake, disk, selection=Selection(is_whole=True), select={"topics": ["orders"]})
    assert offsets(lake) == sorted([*others(20), *range(20, 25)])
    assert is_proved(lake, disk)


@pytest.mark.parametrize("bring_back", ["ingest", "older_copies", "replay", "retake"])
def test_other_copies_do_not_bring_records_back(
    lake: Path, tmp_path: Path, bring_back: str
) -> None:
    erased(lake, key=_KEY)
    copy = people_disk(tmp_path / "copy", 20, broker_id=1)
    match bring_back:
        case "ingest":
            ingested(copy, lake)
        case "older_copies":
            ingested(copy, lake, read={"older_copies": True})
        case "replay":
            replayed(lake, copy, read={"older_copies": True})
        case _:
            retaken(lake, copy, selection=Selection(is_whole=True), select={"topics": ["orders"]})
    assert offsets(lake) == others(20)
    assert is_proved(lake, copy)


def test_run_that_decoded_before_the_rule_cannot_commit_it(tmp_path: Path) -> None:
    lake, has_erased = tmp_path / "lake", list[bool]()
    ingested(people_disk(tmp_path / "disk", 1, batch_records=1), lake)
    disk = people_disk(tmp_path / "disk", 20, batch_records=1)

    def erase_before_the_commit(step: str) -> None:
        if step == "redo" and not has_erased:
            has_erased.append(True)
            assert erased(lake, key="bob's key").records == 0  # they are still on their way

    ingested(disk, lake, after=erase_before_the_commit)
    assert offsets(lake) == [offset for offset in range(20) if offset % 3 != 1]
    assert is_proved(lake, disk)


def test_two_erasures_at_once_both_succeed(lake: Path) -> None:
    has_erased: list[bool] = []

    def erase_too(step: str) -> None:
        if step == "redo" and not has_erased:
            has_erased.append(True)
            erased(lake, key="bob's key")

    erased(lake, key=_KEY, after=erase_too)
    assert offsets(lake) == [offset for offset in range(20) if offset % 3 == 2]
    assert is_proved(lake)


@pytest.mark.parametrize("step", _STEPS)
def test_erasure_that_dies_is_completed_by_the_same_call(lake: Path, step: str) -> None:
    with pytest.raises(Died):
        erased(lake, key=_KEY, after=dying(step))
    erased(lake, key=_KEY)
    assert offsets(lake) == others(20)
    assert gaps(lake) == [(offset, offset + 1) for offset in _OF_ANN]
    assert is_proved(lake)


def test_maintenance_between_two_erasures_keeps_the_proof(lake: Path) -> None:
    erased(lake, key=_KEY)
    maintained(lake)
    erased(lake, key="bob's key")
    before = rules(lake)
    maintained(lake)
    assert len(DeltaTable(str(lake / "erasures")).file_uris()) == 1
    assert sorted(map(str, rules(lake))) == sorted(map(str, before))
    assert offsets(lake) == [offset for offset in range(20) if offset % 3 == 2]
    assert is_proved(lake)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"where": "value"}, "true or false"),
        ({"where": "count(*) > 1"}, "aggregates"),
        ({"where": "value IN (SELECT 1)"}, "a subquery"),
        ({"where": "true; DROP TABLE records"}, "syntax error"),
        ({"where": "true) LIMIT (1"}, "one expression"),
        ({"where": "offset = 1"}, "double quotes"),
        ({"where": "CAST(value AS VARCHAR) LIKE '%é%'"}, "value_text"),
        ({"where": "nothing = 1"}, '"nothing" not found.* It may name key, value, .*value_text'),
        ({"where": "read_text('/etc/passwd') IS NULL"}, "table function"),
        ({}, "either a key or a condition"),
        ({"key": "a", "where": "true"}, "either a key or a condition"),
    ],
)
def test_wrong_choice_is_refused_before_anything_is_touched(
    lake: Path, choice: Chosen, said: str
) -> None:
    with pytest.raises(WrongCallError, match=said):
        erased(lake, **choice)
    assert not (lake / "erasures").exists()


def test_topics_must_be_named_and_exist(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongCallError, match="--topics"):
        erased(lake, key=_KEY, topics=[])
    with pytest.raises(NothingSelectedError):
        erased(lake, key=_KEY, topics=["order"])
    with pytest.raises(NotALakeError):
        erased(tmp_path / "none", key=_KEY)
    assert erased(lake, key=_KEY, topics=["orders", "other"]).exit_code == 3


def test_choice_is_either_a_key_or_a_condition() -> None:
    with pytest.raises(WrongCallError):
        EraseChoice(key=b"", where="true")
