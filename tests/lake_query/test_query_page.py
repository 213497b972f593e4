"""Every block of docs/query.md runs as it stands, and all readers give the same, right answers."""

import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from seglake.cli import register_command, sql_command
from support.lakes import ingested, read_table
from support.page_readers import by_duckdb, by_duckdb_s_script, by_parquet, run_commands
from support.query_answers import Answers, expected, likened
from support.query_page import PAGE, blocks, in_checkout, ran

_SAMPLES = PAGE.parents[1] / "samples" / "broker-0"


@pytest.fixture(scope="module")
def sample_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("page") / "lake"
    ingested(_SAMPLES, lake, isolation="read_committed")
    return lake


@pytest.fixture
def checkout(tmp_path: Path, sample_lake: Path) -> Iterator[Path]:
    with in_checkout(tmp_path, sample_lake) as folder:
        yield folder


def test_the_page_shows_the_questions_as_the_file_has_them() -> None:
    file = (PAGE.parent / "questions.sql").read_text("utf-8")
    assert "\n".join(blocks("The questions", "sql")) == file


@pytest.mark.parametrize("reader", [by_parquet, by_duckdb])
def test_reader_answers_what_is_so(checkout: Path, reader: Callable[[], Answers]) -> None:
    answers, right = reader(), expected()
    for question, answer, truth in zip(Answers._fields, answers, right, strict=True):
        assert answer == truth, question


def test_lines_of_json_are_the_records(checkout: Path) -> None:
    by_duckdb()
    lines = (checkout / "build" / "records.jsonl").read_text("utf-8").splitlines()
    assert likened(map(json.loads, lines)) == expected().records


def test_parquet_files_are_written_and_read_as_shown(checkout: Path) -> None:
    run_commands("Parquet files")
    names: Mapping[str, Any] = ran(blocks("Parquet files", "python"))
    assert [row["offset"] for row in names["latest"].sort("partition", "offset").to_dicts()] == [
        row["offset"] for row in expected().latest
    ]
    assert names["completeness"].height == len(expected().completeness)


def test_duckdb_installs_the_extension_as_shown(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_from_packages(checkout, monkeypatch, "delta")
    assert by_duckdb_s_script("build/lake.sql") == expected()
    assert list((checkout / "installed").rglob("delta.duckdb_extension"))


def _install_from_packages(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have DuckDB fetch extensions from a folder that is laid out as the place it knows."""
    platform = duckdb.sql("PRAGMA platform").fetchall()[0][0]
    version = f"v{duckdb.__version__}"
    (folder / "from" / version / platform).mkdir(parents=True)
    for name in names:
        extensions = files(f"duckdb_extension_{name}") / "extensions"
        packed = extensions / version / f"{name}.duckdb_extension"
        shutil.copy(str(packed), folder / "from" / version / platform)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "custom_extension_repository": str(folder / "from"),
        "extension_directory": str(folder / "installed"),
    }
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda: connect(config=settings))


def test_commands_of_seglake_sql_are_as_shown(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("seglake sql", "bash")
    for line in block.splitlines():
        command, _, target = line.partition(" > ")
        assert sql_command.main(shlex.split(command)[2:]) == 0
        printed, said = capsys.readouterr()
        assert "Spark" not in said
        if target:
            (checkout / target).write_text(printed, "utf-8")
        elif "--parquet" not in command:
            assert "| v2-zstd      |         1 |         258 |" in printed
    lines = (checkout / "build" / "records.jsonl").read_text("utf-8").splitlines()
    names = ("partition", "offset", "timestamp", "key_text", "value_text")
    texts = [{name: row[name] for name in names} for row in expected().records]
    assert likened(map(json.loads, lines)) == texts
    assert "v2-zstd,1,258\n" in (checkout / "build" / "answers.csv").read_text("utf-8")
    assert pq.read_table(checkout / "build" / "gaps.parquet").num_rows == 2


def test_readers_of_iceberg_find_what_register_described(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_from_packages(checkout, monkeypatch, "avro", "iceberg")
    (command,) = blocks("Iceberg", "bash")
    assert register_command.main(shlex.split(command)[2:]) == 0
    # Any: what a block of the page binds.
    names: Mapping[str, Any] = ran(blocks("Iceberg", "python"))
    rows = read_table(checkout / "build" / "demo", "records")
    topics = Counter(row["topic"] for row in rows)
    assert sorted(names["counts"]) == sorted(topics.items())
    assert names["of_topic"].num_rows == topics["v2-zstd"]


def test_every_block_is_in_a_section_that_a_test_runs() -> None:
    """A new section, or a new kind of block in one, needs a test of its own."""
    found = {}
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        kinds = re.findall(r"^```(\w+)$", section, re.MULTILINE)
        found[section.partition("\n")[0]] = set(kinds)
    assert found == {
        "The questions": {"sql"},
        "seglake sql": {"bash"},
        "Parquet files": {"bash", "python"},
        "DuckDB": {"bash", "python"},
        "PySpark": {"bash", "python"},
        "Catalogs": set(),  # of servers, see test_catalog_entries
        "Iceberg": {"bash", "python"},
        "JDBC": {"bash"},
        "What to know": set(),
    }
