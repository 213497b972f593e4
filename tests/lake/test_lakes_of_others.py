"""A lake that somebody else owns: who may not write it is told so, before anything is touched."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seglake.cli import report_command
from seglake.errors import WrongCallError
from support.lakes import ingested, maintained, read_table, replayed
from support.made_logs import make_log_dir

_NOBODY = 65534
_READ_ONLY = stat.S_IRUSR | stat.S_IXUSR | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may read: the ones of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(_READ_ONLY | stat.S_IWUSR)
    yield folder
    for below in folder.rglob("*"):
        if below.is_dir():
            below.chmod(_READ_ONLY | stat.S_IWUSR)
    shutil.rmtree(folder)


@pytest.fixture
def as_another(place: Path) -> Iterator[Callable[[], None]]:
    """Takes away the right to write in the place, for the rest of the test."""
    user = os.geteuid()

    def become() -> None:
        for folder in (place, *(below for below in place.rglob("*") if below.is_dir())):
            folder.chmod(_READ_ONLY)
        if user == 0:  # who may write everywhere
            os.seteuid(_NOBODY)

    yield become
    os.seteuid(user)


def test_lake_that_may_not_be_written_is_a_wrong_call(
    place: Path, as_another: Callable[[], None]
) -> None:
    disk, lake = place / "disk", place / "lake"
    make_log_dir(disk, {("orders", 0): [0, 5]})
    ingested(disk, lake)
    more = place / "more"
    make_log_dir(more, {("orders", 0): [0, 5, 9]})
    maintained(lake)  # so that nothing is left to be loaded
    as_another()
    calls: list[Callable[[], object]] = [
        lambda: ingested(more, lake),
        lambda: maintained(lake),
        lambda: ingested(more, place / "new", makes_lake=True),
    ]
    for call in calls:
        with pytest.raises(WrongCallError, match=r"the lake is refused: .*: Permission denied$"):
            call()
    assert len(read_table(lake, "records")) == 5


def test_who_may_not_write_a_lake_may_ask_it_what_would_be_done(
    place: Path, as_another: Callable[[], None]
) -> None:
    disk, lake = place / "disk", place / "lake"
    make_log_dir(disk, {("orders", 0): [0, 5]})
    ingested(disk, lake)
    more = place / "more"
    make_log_dir(more, {("orders", 0): [0, 5, 9]})
    as_another()
    assert ingested(more, lake, dry_run=True).planned.planned_offsets == 4
    assert ingested(disk, lake).exit_code == 0  # which has nothing to do
    assert replayed(lake, more, dry_run=True).exit_code == 0


def test_a_report_into_a_folder_without_rights_is_a_wrong_call(
    place: Path, as_another: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    disk, lake = place / "disk", place / "lake"
    make_log_dir(disk, {("orders", 0): [0, 5]})
    ingested(disk, lake)
    old = ["--lake", str(lake), "--output", str(place / "old.html")]
    assert report_command.main(old) == 0  # and nothing is left to be loaded
    as_another()
    for name in ("new.html", "old.html"):
        output = ["--output", str(place / name)]
        assert report_command.main(["--lake", str(lake), *output]) == 2
        assert "cannot be written to" in capsys.readouterr().err
