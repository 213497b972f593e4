"""A `latest` that runs beside an erasure brings no erased row into its table."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from support.audits import audited
from support.erasures import erased
from support.lakes import ingested
from support.latest_state import expected, state, updated
from support.people import people_disk

_KEY = "ann's key"


def keys(lake: Path) -> set[bytes]:
    rows = DeltaTable(str(lake / "latest" / "orders")).to_pyarrow_table().to_pylist()
    return {row["key"] for row in rows}


def once(step: str, run: Callable[[], object]) -> Callable[[str], None]:
    """Run something else at a step, the first time."""
    done: list[str] = []

    def after(name: str) -> None:
        if name == step and not done:
            done.append(name)
            run()

    return after


@pytest.fixture(params=["first", "later"], scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose `latest` has new records to merge: all, or those of a second ingest."""
    folder = tmp_path_factory.mktemp("people")
    lake = folder / "lake"
    ingested(people_disk(folder / "disk", 10, topics=["orders"]), lake)
    if request.param == "later":
        updated(lake, "orders")
        ingested(people_disk(folder / "disk", 20, topics=["orders"]), lake)
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


@pytest.mark.parametrize("step", ["table", "rows", "latest/orders"])
def test_erasure_inside_of_a_run_leaves_no_row(lake: Path, step: str) -> None:
    summary = updated(lake, "orders", after=once(step, lambda: erased(lake, key=_KEY)))
    assert _KEY.encode() not in keys(lake)
    if step == "rows":
        assert "orders: another run was faster; run again" in summary.to_text()
        assert summary.exit_code == 3
    updated(lake, "orders")
    assert keys(lake) == {b"bob's key", b"eve's key"}
    assert state(lake, "orders") == expected(lake, "orders")
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize(
    "step", ["begun", "redo", "records", "checkpoints", "erased from latest/orders"]
)
def test_run_inside_of_an_erasure_leaves_no_row(lake: Path, step: str) -> None:
    updated(lake, "orders")
    erased(lake, key=_KEY, after=once(step, lambda: updated(lake, "orders", rebuild=True)))
    assert _KEY.encode() not in keys(lake)
    updated(lake, "orders")
    assert state(lake, "orders") == expected(lake, "orders")
    assert audited(lake).exit_code == 0


def test_runs_that_began_before_an_erasure_lose_also_if_they_end_after_it(lake: Path) -> None:
    def erase_and_update() -> None:
        erased(lake, key=_KEY)
        updated(lake, "orders")

    updated(lake, "orders", after=once("rows", erase_and_update))
    assert keys(lake) == {b"bob's key", b"eve's key"}
