"""Every record of a topic is one row of a typed table, or one reject, as an oracle says it."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from seglake.cli.main import main
from seglake.errors import ExitCode
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TypedTableError
from seglake.lake.typed_tables import create_or_extend, typed_tables
from seglake.pipelines.lake_deserialize.deserialize_summary import DeserializeSummary
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec import schema_readers
from support.dying import Died, dying
from support.lakes import ingested, read_table
from support.typed_disk import (
    schema_pair,
    typed_disk,
    write_registry,
)
from support.typed_lakes import ID_1, add_schemas, add_values, decoded, made
from support.typed_oracle import all_rows, rejects
from support.typed_rows import table_rows, typed_rows


@pytest.fixture(scope="module")
def ingested_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed") / "lake"
    ingested(typed_disk(), folder)
    return folder


@pytest.fixture(scope="module")
def typed_lake(ingested_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed") / "lake"
    shutil.copytree(ingested_lake, folder)
    decoded(folder)
    return folder


def test_each_attempt_is_typed_rows_and_rejects(typed_lake: Path) -> None:
    counted = Counter(
        (row["topic"], row["partition"], row["generation"])
        for row in read_table(typed_lake, "records")
    )
    ledger = table_rows(typed_lake, "typed_checkpoints")
    assert {row["topic"] for row in ledger} >= {"avro_orders", "json_plain"}
    for row in ledger:
        place = row["topic"], row["partition"], row["record_generation"]
        assert row["records"] == counted[place] == row["typed_rows"] + row["value_rejects"]


def test_a_second_run_has_nothing_to_do(typed_lake: Path) -> None:
    before = table_rows(typed_lake, "typed_checkpoints")
    summary = decoded(typed_lake, "avro_*", "json_*")
    assert (summary.topics, summary.left_out, summary.recovered) == ([], {}, [])
    assert table_rows(typed_lake, "typed_checkpoints") == before


def test_a_rejected_key_keeps_its_bytes(typed_lake: Path) -> None:
    [key, *_] = [row for row in rejects(typed_lake, "avro_bad") if row["part"] == "key"]
    [row] = [r for r in all_rows(typed_lake, "avro_bad") if r["_offset"] == key["offset"]]
    [record] = [
        r
        for r in read_table(typed_lake, "records")
        if r["topic"] == "avro_bad" and r["offset"] == key["offset"]
    ]
    assert (row["_key"], row["_key_raw"]) == (None, record["key"])
    assert (key["raw"], key["raw_is_complete"]) == (record["key"], True)


_STEPS = ("redo", "value_rejects", "typed/t", "typed_checkpoints", "cleaned")


def numbers(lake: Path) -> list[int | None]:
    return [row["value"] for row in typed_rows(lake, "t")]


@pytest.mark.parametrize("step", _STEPS)
def test_a_run_that_died_is_completed_and_nothing_is_twice(tmp_path: Path, step: str) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", None, b"bad")
    with pytest.raises(Died):
        decoded(lake, "t", after=dying(step))
    decoded(lake, "t")
    assert numbers(lake) == [1, None]
    assert [row["offset"] for row in table_rows(lake, "value_rejects")] == [2]
    [done] = table_rows(lake, "typed_checkpoints")
    assert (done["records"], done["typed_rows"], done["value_rejects"]) == (3, 2, 1)
    assert decoded(lake, "t").topics == []


def test_a_later_run_decodes_what_was_ingested_since(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", ID_1 + b"\x04", ID_1 + b"\x06", start=1)
    summary = decoded(lake, "t")
    assert [topic.typed_rows for topic in summary.topics] == [2]
    assert numbers(lake) == [1, 2, 3]
    rows = typed_rows(lake, "t")
    assert len({row["_generation"] for row in rows}) == 2


def test_a_later_schema_adds_a_column(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    decoded(lake, "t")
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    add_schemas(lake, tmp_path / "registry-2", '"string"', schema)
    ids = [bytes(4) + bytes([number]) for number in (2, 3)]
    add_values(lake, tmp_path / "more", ids[0] + b"\x02x", ids[1] + b"\x08", start=1)
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    assert [(r["value"], r["value__string"]) for r in typed_rows(lake, "t")] == [
        (1, None),
        (None, "x"),
    ]
    assert [row["a"] for row in typed_rows(lake, "t__R")] == [4]


def test_a_run_that_loses_against_another_commits_nothing(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    other: list[DeserializeSummary] = []

    def meanwhile(step: str) -> None:
        if step == "redo" and not other:
            other.append(decoded(lake, "t"))

    summary = decoded(lake, "t", after=meanwhile)
    assert [topic.typed_rows for topic in other[0].topics] == [1]
    assert (summary.topics, summary.exit_code) == ([], ExitCode.LOOK)
    assert "another run was faster" in summary.to_text()
    assert numbers(lake) == [1]


def test_a_type_that_would_widen_a_column_gets_its_own(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    decoded(lake, "t")
    add_schemas(lake, tmp_path / "registry-2", '"long"')
    for run in (1, 2):
        add_values(lake, tmp_path / f"more-{run}", bytes(4) + b"\x02\x04", start=run)
        assert decoded(lake, "t").exit_code is ExitCode.DONE
    rows = typed_rows(lake, "t")
    assert [(row["value"], row["value__bigint"]) for row in rows] == [
        (1, None),
        (None, 2),
        (None, 2),
    ]


def test_tombstones_alone_are_rows_of_the_first_table(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", None, None, start=1)
    assert [topic.typed_rows for topic in decoded(lake, "t").topics] == [2]
    assert [row["_tombstone"] for row in typed_rows(lake, "t")] == [False, True, True]


_GLUE_FRAME = b"\x03\x00" + bytes(range(16))  # of a schema that no registry has


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (_GLUE_FRAME, "names a schema that is known: give them with --schemas"),
        (ID_1, "has a schema that can be read: schema_unparseable, see `seglake schemas`"),
    ],
    ids=["lost", "broken"],
)
def test_a_topic_without_a_readable_schema_is_left_out_and_says_why(
    tmp_path: Path, frame: bytes, reason: str
) -> None:
    broken = [(0, [schema_pair("t-value", 1, 1, schema="{")])]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", broken), lake)
    add_values(lake, tmp_path / "values", frame + b"\x02", frame + b"\x04")
    summary = decoded(lake, "t")
    assert summary.exit_code == ExitCode.LOOK
    accepting = "if you accept that, exclude it: --topics '!t'"
    expected = f"left out: t: none of its values {reason}; {accepting}"
    assert summary.to_text().splitlines()[-1] == expected


@pytest.mark.parametrize("topic", ["proto_auto", "header_guid"])  # all, and some
def test_topics_with_protobuf_are_left_out_without_its_packages(
    topic: str, ingested_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(ingested_lake, lake)
    monkeypatch.setattr(schema_readers, "has_protobuf", lambda: False)
    summary = decoded(lake, topic)
    advice = "needs more packages: pip install '.[protobuf]' in seglake's folder"
    assert f"left out: {topic}: it has values of PROTOBUF, which {advice}" in summary.to_text()
    assert summary.exit_code is ExitCode.LOOK
    monkeypatch.undo()
    assert [each.topic for each in decoded(lake, topic).topics] == [topic]


def _foreign(lake: Path, name: str) -> Path:
    """Write a Delta table of another program into `typed`."""
    folder = lake / "typed" / name
    write_deltalake(folder, pa.table({"_offset": [1, 2]}))
    return folder


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _command(lake: Path, name: str, *options: str) -> ExitCode:
    return ExitCode(main([name, "--lake", str(lake), *options]))


def test_a_table_of_another_program_beside_the_typed_tables_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", None)
    foreign = _foreign(lake, "mine")
    before = _files(foreign)
    assert decoded(lake).exit_code == ExitCode.DONE
    assert numbers(lake) == [1, None]
    local = ("--engine", "local")
    assert _command(lake, "deserialize", "--dry-run") == ExitCode.DONE
    assert _command(lake, "deserialize", "--rebuild", "--topics", "t", *local) == ExitCode.DONE
    assert _command(lake, "audit") == ExitCode.DONE
    assert _command(lake, "report", "--output", str(tmp_path / "page.html")) == ExitCode.DONE
    assert _command(lake, "maintain", *local) == ExitCode.DONE
    assert _command(lake, "latest", "--topics", "t") == ExitCode.DONE
    capsys.readouterr()
    assert _command(lake, "sql", "SELECT count(*) AS n FROM typed_t") == ExitCode.DONE
    assert "2" in capsys.readouterr().out
    assert _command(lake, "sql", "SHOW TABLES") == ExitCode.DONE
    assert "mine" not in capsys.readouterr().out
    assert _command(lake, "erase", "--topics", "t", "--key", "k", *local) == ExitCode.DONE
    assert numbers(lake) == []
    assert _files(foreign) == before


def test_a_topic_whose_table_another_program_made_is_left_out(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    foreign = _foreign(lake, "t")
    before = _files(foreign)
    counted = _command(lake, "deserialize", "--dry-run")
    summary = decoded(lake)
    assert counted == summary.exit_code == ExitCode.LOOK
    assert summary.to_text().startswith("nothing decoded (")
    [reason] = summary.left_out.values()
    assert reason.startswith(
        "t: table typed/t cannot be written: it is a table that seglake did not create;"
    )
    assert _files(foreign) == before
    foreign.rename(tmp_path / "moved")
    assert decoded(lake).exit_code == ExitCode.DONE
    assert numbers(lake) == [1]


def test_a_table_that_another_run_created_and_filled_meanwhile_is_no_foreign_folder(
    tmp_path: Path,
) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    decoded(lake, "t")
    tables = LakeTables(str(lake), LocalStorage())
    [there] = typed_tables(tables)
    assert create_or_extend(LakeTables(str(lake), LocalStorage()), there, {}) == there
    with pytest.raises(TypedTableError, match=r"it is the table of topic t$"):
        create_or_extend(tables, there._replace(topic="other"), {})
