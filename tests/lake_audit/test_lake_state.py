"""Tables whose generations do not belong together, or not yet."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.lake.errors import NotALakeError
from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, kinds
from support.dying import Died, dying
from support.lakes import ingested
from support.made_logs import make_log_dir


def test_a_last_table_that_is_two_commits_behind_is_no_unfinished_commit(tmp_path: Path) -> None:
    """As the others are ahead in their order, only the distance tells."""
    data, lake = tmp_path / "data", tmp_path / "lake"
    for stop in (10, 20, 30):
        ingested(make_log_dir(data, {("orders", 0): [0, stop]}), lake)
    for _ in range(2):
        newest = DeltaTable(str(lake / "checkpoints")).version()
        (lake / "checkpoints" / "_delta_log" / f"{newest:020d}.json").unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith("orders: the tables cannot belong together")


def test_a_table_put_back_from_a_copy_is_said(lake: Path, tmp_path: Path) -> None:
    older = DeltaTable(str(lake / "batches")).version()
    (lake / "batches" / "_delta_log" / f"{older:020d}.json").unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith(
        "cmp-v2: the tables cannot belong together, their generations are records 1, batches 0"
    )


@pytest.mark.parametrize("step", ["records", "batches", "gaps"])
def test_a_commit_that_is_not_finished_is_a_note_and_no_problem(step: str, tmp_path: Path) -> None:
    orders, lake = ("orders", 0), tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "a", {orders: [0, 20]}), lake)
    grown = make_log_dir(tmp_path / "b", {orders: [0, 40]})
    with pytest.raises(Died):
        ingested(grown, lake, after=dying(step))
    found = audited(lake)
    assert (kinds(found), found.problems, found.exit_code) == (set(), (), 0)
    assert [note.partition(":")[0] for note in found.notes] == ["orders"]
    assert found.partitions[0].covered == ((0, 20),)
    ingested(grown, lake)
    found = audited(lake)
    assert (found.notes, found.partitions[0].covered) == ((), ((0, 40),))


def test_a_lake_without_a_row_is_not_proved(tmp_path: Path) -> None:
    data, lake = tmp_path / "data", tmp_path / "lake"
    make_log_dir(data, {("orders", 0): [0, 20]}, high_watermarks={("orders", 0): 0})
    assert (ingested(data, lake).exit_code, ingested(data, lake).records) == (0, 0)
    found = audited(lake)
    (problem,) = found.problems
    assert problem.startswith("nothing was ingested: the ledger has no row; no run has committed")
    assert (found.exit_code, found.is_empty, found.partitions) == (3, True, ())
    assert to_text(found).splitlines()[0] == (f"{lake}: NOTHING WAS INGESTED, so nothing is proved")


@pytest.mark.parametrize("has_high_watermark", [True, False])
def test_a_partition_of_damage_alone_is_a_problem_beside_sound_ones(
    has_high_watermark: bool, tmp_path: Path
) -> None:
    edges = {("bad", 0): [0, 20], ("half", 0): [0, 10, 20], ("sound", 0): [0, 20]}
    data = make_log_dir(tmp_path / "data", edges)
    for log in (data / "bad-0" / f"{0:020}.log", data / "half-0" / f"{10:020}.log"):
        log.write_bytes(b"no batch of Kafka's" * 20)
    if not has_high_watermark:
        for checkpoint in data.glob("**/*-checkpoint"):
            checkpoint.unlink()
    ingested(data, tmp_path / "lake")
    found = audited(tmp_path / "lake")
    assert found.problems == ("no record was ingested of bad-0: all of it is damaged",)
    assert (found.exit_code, found.is_empty) == (3, False)


def test_a_lake_of_damage_alone_says_which_partitions_are_damaged(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]})
    for checkpoint in data.glob("*-checkpoint"):
        checkpoint.unlink()
    for segment in (data / "orders-0").glob("*.log"):
        segment.write_bytes(b"no batch of Kafka's" * 20)
    ingested(data, tmp_path / "lake", read={"upper_bound": "log_end"})
    found = audited(tmp_path / "lake")
    assert found.problems == ("no record was ingested of orders-0: all of it is damaged",)
    assert (found.exit_code, found.is_empty) == (3, True)


@pytest.mark.parametrize("step", ["redo", "records", "batches", "gaps"])
def test_a_run_that_died_before_its_first_commit_was_complete_is_not_green(
    step: str, tmp_path: Path
) -> None:
    data, lake = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]}), tmp_path / "lake"
    with pytest.raises(Died):
        ingested(data, lake, after=dying(step))
    found = audited(lake)
    assert (kinds(found), found.exit_code, found.is_empty) == (set(), 3, True)
    (problem,) = found.problems
    assert "died before its first commit was complete" in problem
    assert [note.partition(":")[0] for note in found.notes] == (
        [] if step == "redo" else ["orders"]
    )
    ingested(data, lake)
    found = audited(lake)
    assert (found.exit_code, found.notes) == (0, ())


def test_a_first_commit_of_one_topic_that_is_not_finished_is_a_note_beside_others(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "a", {("orders", 0): [0, 20]}), lake)
    both = make_log_dir(tmp_path / "b", {("orders", 0): [0, 20], ("payments", 0): [0, 20]})
    with pytest.raises(Died):
        ingested(both, lake, after=dying("records"))
    found = audited(lake)
    assert (kinds(found), found.problems, found.exit_code) == (set(), (), 0)
    assert [note.partition(":")[0] for note in found.notes] == ["payments"]


def test_a_place_that_no_run_has_written_to_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotALakeError, match="none is not a lake: it does not exist"):
        audited(tmp_path / "none")
    (tmp_path / "none").mkdir()
    with pytest.raises(NotALakeError, match="the folder is empty: see the output of the last"):
        audited(tmp_path / "none")
