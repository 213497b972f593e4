"""What docs/rescue.md shows of the hand-over opens a copied lake where no seglake is."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from seglake.pipelines.lake_query.views import view_names
from support.lakes import ingested, read_table

_ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^## Hand the lake over\n(.+?)^## ", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(bash|python)\n(.+?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copied lake `lake`, and what the first commands of the page print there."""
    folder = tmp_path_factory.mktemp("share")
    ingested(_ROOT / "samples" / "broker-0", folder / "own")
    shutil.move(folder / "own", folder / "lake")
    _run(_blocks()[0], folder, folder / "lake")
    return folder


def _blocks() -> list[tuple[str, str]]:
    """What is to be run, each with its language."""
    section = _SECTION.search((_ROOT / "docs" / "rescue.md").read_text("utf-8"))
    assert section is not None
    return [(language, text) for language, text in _BLOCK.findall(section[1])]


def _run(block: tuple[str, str], folder: Path, lake: Path) -> str:
    language, text = block
    text = text.replace("/mnt/share/lake", str(lake)).replace("/home/ann/lake", f"{folder}/ann")
    seglake = f"{shlex.quote(sys.executable)} -m seglake"
    shell = re.sub("^seglake", seglake, text, flags=re.MULTILINE)
    command = ["sh", "-ec", shell] if language == "bash" else [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def test_copied_lake_opens_in_duckdb_polars_and_by_spark_s_sql(share: Path) -> None:
    records = read_table(share / "lake", "records")
    with duckdb.connect() as own:
        own.execute((share / "lake.sql").read_text("utf-8"))
        assert own.execute("SELECT count(*) FROM current_records").fetchall() == [(len(records),)]
        (quarantined,) = own.execute("SELECT sum(quarantined) FROM completeness").fetchall()[0]
    completeness = pl.read_parquet(share / "completeness.parquet")
    assert completeness["records"].sum() == len(records)
    assert completeness["quarantined"].sum() == quarantined == 22
    printed = (share / "spark.sql").read_text("utf-8")
    assert all(f"VIEW {view}\n" in printed for view in view_names())


def test_script_for_duckdb_follows_a_moved_folder(share: Path, tmp_path: Path) -> None:
    shutil.copytree(share / "lake", tmp_path / "ann")
    shutil.copyfile(share / "lake.sql", tmp_path / "lake.sql")
    _, move, python = _blocks()
    assert (move[0], python[0]) == ("bash", "python")
    _run(move, tmp_path, share / "lake")
    script = (tmp_path / "moved.sql").read_text("utf-8")
    assert f"{share}/lake/" not in script
    assert "replace its path in this file" in script
    printed = _run(python, tmp_path, share / "lake")
    assert "4 columns" in printed
    with duckdb.connect() as own:
        own.execute(script)
        records = len(read_table(share / "lake", "records"))
        assert own.execute("SELECT count(*) FROM current_records").fetchall() == [(records,)]
