"""Lakes that have the rows of a log that lost an election, and know."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from support.elected_logs import ElectedLog, write_elected
from support.lakes import ingested
from support.retaken_lakes import LOSER, TO_LOG_END, Lost


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "disk"


@pytest.fixture(scope="module")
def made_lost(tmp_path_factory: pytest.TempPathFactory) -> Lost:
    """A folder with a lake that has the loser's rows and knows, and the disk of the winner."""

    @cache
    def made(loser: ElectedLog, winner: ElectedLog, high_watermark: int | None) -> Path:
        folder = tmp_path_factory.mktemp("lost")
        ingested(write_elected(folder / "disk", loser), folder / "lake", read=TO_LOG_END)
        write_elected(folder / "disk", winner, broker_id=1, high_watermark=high_watermark)
        summary = ingested(folder / "disk", folder / "lake")
        assert (summary.exit_code, bool(summary.findings.of(FindingKind.SUPERSEDED))) == (3, True)
        return folder

    return made


@pytest.fixture
def lost(made_lost: Lost, lake: Path, disk: Path) -> Lost:
    """Makes a lake that has the loser's rows and knows; the disk with the winner's log."""

    def copied(
        winner: ElectedLog, loser: ElectedLog = LOSER, high_watermark: int | None = None
    ) -> Path:
        folder = made_lost(loser, winner, high_watermark)
        shutil.copytree(folder / "lake", lake)
        return shutil.copytree(folder / "disk", disk)

    return copied
