"""Runs of `latest` that die, run beside each other, or find a changed lake."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.lake.errors import ForeignChangeError
from support.dying import Died, dying
from support.keyed_logs import Values, write
from support.lakes import ingested
from support.latest_state import assert_current, table_version, updated, values_of


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("step", ["table", "rows", "files", "latest/orders"])
def test_a_run_killed_at_any_step_and_run_again_gives_the_same_table(
    step: str, is_first: bool, tmp_path: Path
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log: list[Values] = [("a", b"1"), ("b", b"1")]
    ingested(write(disk, *log), lake)
    if not is_first:
        updated(lake, "orders")
        ingested(write(disk, *log, ("a", None), ("c", b"1")), lake)

    with pytest.raises(Died):
        updated(lake, "orders", after=dying(step))
    version = table_version(lake)
    updated(lake, "orders")
    assert (table_version(lake) == version) == (step == "latest/orders")
    assert_current(lake, "orders")


def test_of_two_runs_at_once_one_is_too_late_and_says_so(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(write(disk, ("a", b"1")), lake)
    updated(lake, "orders")
    ingested(write(disk, ("a", b"1"), ("a", b"2")), lake)

    def other(step: str) -> None:
        if step == "rows":
            ingested(write(disk, ("a", b"1"), ("a", b"2"), ("a", b"3")), lake)
            updated(lake, "orders")

    late = updated(lake, "orders", after=other)
    assert (late.exit_code, late.left_out) == (
        ExitCode.LOOK,
        {"orders": "orders: another run was faster; run again"},
    )
    assert values_of(lake) == {b"a": b"3"}
    assert_current(lake, "orders")


def test_rows_that_are_not_published_yet_wait_for_the_next_run(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(write(disk, ("a", b"1")), lake)
    updated(lake, "orders")

    ingested(write(disk, ("a", b"1"), ("a", b"2")), lake)
    longer = write(disk, ("a", b"1"), ("a", b"2"), ("a", b"3"))
    with pytest.raises(Died):
        ingested(longer, lake, after=dying("records"))
    updated(lake)
    assert values_of(lake) == {b"a": b"2"}
    ingested(longer, lake)
    updated(lake)
    assert values_of(lake) == {b"a": b"3"}


def test_a_table_that_another_tool_changed_is_refused_until_it_is_rebuilt(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(write(disk, ("a", b"1"), ("b", b"1")), lake)
    updated(lake, "orders")
    DeltaTable(str(lake / "latest" / "orders")).update(updates={"value": "CAST('x' AS BYTEA)"})
    ingested(write(disk, ("a", b"1"), ("b", b"1"), ("b", b"2")), lake)
    with pytest.raises(ForeignChangeError):
        updated(lake)
    updated(lake, rebuild=True)
    assert_current(lake, "orders")


def test_a_lake_that_was_restored_to_less_needs_a_rebuild(tmp_path: Path) -> None:
    disk, lake, copy = tmp_path / "disk", tmp_path / "lake", tmp_path / "copy"
    ingested(write(disk, ("a", b"1"), ("b", b"1")), lake)
    shutil.copytree(lake, copy)
    ingested(write(disk, ("a", b"1"), ("b", b"1"), ("a", b"2"), ("c", b"1")), lake)
    updated(lake, "orders")
    shutil.copytree(lake / "latest", copy / "latest")
    refused = updated(copy)
    assert (refused.exit_code, list(refused.left_out)) == (ExitCode.LOOK, ["orders"])
    assert "use --rebuild" in refused.to_text()
    assert updated(copy, rebuild=True).exit_code == ExitCode.DONE
    assert values_of(copy) == {b"a": b"1", b"b": b"1"}
    assert_current(copy, "orders")
