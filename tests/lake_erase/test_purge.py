"""A purge says which files it deletes, and ends with 3 if it leaves one."""

import json
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from support.audits import audited
from support.dying import Died, dying
from support.erasures import erased, places_of
from support.lakes import ingested, read_table
from support.latest_state import updated
from support.people import people_disk
from support.typed_lakes import decoded

_KEY = "ann's key"
_SECRET = b"secret of ann"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    for stop in (10, 20):
        disk = people_disk(folder / "disk", stop, topics=["orders"], as_json=True)
        ingested(disk, folder / "lake")
        updated(folder / "lake", "orders")
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def data_files(lake: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in lake.rglob("*.parquet")}


def test_dry_run_lists_the_files_that_the_purge_deletes(lake: Path) -> None:
    before = data_files(lake)
    dry = erased(lake, key=_KEY, purges=True, dry_run=True)
    assert data_files(lake) == before
    erased(lake, key=_KEY, purges=True)
    gone = {path: size for path, size in before.items() if path not in data_files(lake)}
    assert gone
    assert dry.purged is not None
    assert dry.purged.sizes == gone
    text = dry.to_text()
    assert f"{len(gone)} old files of " in text
    assert "would be deleted" in text
    assert all(f"\n  {path.removeprefix(f'{lake}/')}\n" in f"{text}\n" for path in gone)
    assert json.loads(dry.to_json())["purged"]["paths"] == sorted(gone)


def test_file_that_cannot_be_deleted_ends_with_3_until_it_can(lake: Path) -> None:
    [file, *_] = DeltaTable(str(lake / "records")).file_uris()
    content = Path(file).read_bytes()
    erased(lake, key=_KEY)
    Path(file).unlink()
    (Path(file) / "below").mkdir(parents=True)  # no file: it cannot be deleted as one
    summary = erased(lake, key=_KEY, purges=True)
    assert summary.exit_code == 3
    assert "not deleted: records: " in summary.to_text()
    assert places_of(lake / "latest", _SECRET) == []
    assert audited(lake).not_erased != ()
    (Path(file) / "below").rmdir()
    Path(file).rmdir()
    Path(file).write_bytes(content)
    assert erased(lake, key=_KEY, purges=True).exit_code == 0
    assert places_of(lake, _SECRET) == []
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize(
    ("kept", "days"), [(None, 7), ("interval 30 days", 30), ("interval 1 hour", 7)]
)
def test_date_respects_how_long_the_table_keeps_files(
    lake: Path, kept: str | None, days: int
) -> None:
    if kept is not None:
        DeltaTable(str(lake / "records")).alter.set_table_properties(
            {"delta.deletedFileRetentionDuration": kept}
        )
    until = datetime.now(UTC) + timedelta(days=days)
    assert f"maintain deletes them from {until:%F} on" in erased(lake, key=_KEY).to_text()


@pytest.mark.parametrize("step", ["redo", "value_rejects"])
def test_purge_deletes_what_a_killed_deserialize_made_of_the_records(lake: Path, step: str) -> None:
    with pytest.raises(Died):
        decoded(lake, "orders", after=dying(step))
    erased(lake, key=_KEY, purges=True)
    assert places_of(lake, _SECRET) == []


def test_purge_deletes_what_a_killed_latest_wrote(lake: Path) -> None:
    before = data_files(lake)
    with pytest.raises(Died):
        updated(lake, "orders", rebuild=True, after=dying("files"))
    assert data_files(lake).keys() > before.keys()
    time.sleep(0.01)
    erased(lake, key=_KEY, purges=True)
    assert places_of(lake, _SECRET) == []


@pytest.mark.parametrize("new", ["cluster", "topic"])
def test_purge_keeps_the_files_of_a_first_run(tmp_path: Path, new: str) -> None:
    lake, topics = tmp_path / "lake", ["orders", "payments"]
    ingested(people_disk(tmp_path / "old", 10, topics=topics, cluster_id="old"), lake)
    begun = people_disk(tmp_path / "begun", 10, topics=["orders"], cluster_id="new")
    if new == "topic":
        ingested(begun, lake, source={"source_id": "new"})
        begun = people_disk(tmp_path / "begun", 10, topics=topics, cluster_id="new")
    purged: list[int] = []

    def purge_meanwhile(step: str) -> None:
        if step == "redo" and not purged:
            time.sleep(0.05)
            purged.append(
                erased(lake, key=_KEY, topics=["payments", "orders"], purges=True).exit_code
            )

    ingested(begun, lake, after=purge_meanwhile, source={"source_id": "new"})
    assert purged == [3]  # a file of the active run was left
    rows = [row for row in read_table(lake, "records") if row["source_id"] == "new"]
    topic = "orders" if new == "cluster" else "payments"
    assert [row["offset"] for row in rows if row["topic"] == topic] == [*range(10)]
    assert erased(lake, key=_KEY, topics=topics, purges=True).exit_code == 0
    assert places_of(lake, _SECRET) == []
    assert audited(lake).exit_code == 0
