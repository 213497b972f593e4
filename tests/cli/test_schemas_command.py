"""`seglake schemas` lists what the registry had, and its exit code says whether to look."""

import json
from pathlib import Path

import pytest

from seglake.cli import deserialize_command, schemas_command
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.typed_disk import SOURCE_ID, Pair, schema_pair, typed_lake, write_registry


def made(tmp_path: Path, *pairs: Pair, topic: str = "_schemas") -> list[str]:
    ingested(write_registry(tmp_path / "disk", [(0, pairs)], topic=topic), tmp_path / "lake")
    return ["--lake", str(tmp_path / "lake")]


def test_each_schema_has_a_line_and_problems_end_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas")
    assert schemas_command.main(["--lake", str(lake)]) == 3
    first, headings, *lines = capsys.readouterr().out.splitlines()
    assert first == (
        f"_schemas of {SOURCE_ID}: 63 schemas with 60 ids (53 AVRO, 4 JSON, 5 PROTOBUF, 1 THRIFT);"
        " 3 cannot decode values"
    )
    assert headings.split() == ["subject", "version", "id", "type", "guid", "state"]
    assert len(lines) == 63
    cells = [line.split(maxsplit=5) for line in lines]
    states = {(subject, state) for subject, _, _, _, _, *rest in cells for state in rest}
    assert ("avro_bad-noref", "reference missing: lab.Missing (nowhere, version 3)") in states
    assert ("confluent_deleted-value", "hard deleted") in states
    assert ("avro_bad-enc", "encrypts") in states


def test_a_registry_without_a_problem_ends_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1), schema_pair("a", 1))
    assert schemas_command.main([*lake, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    [registry] = facts["registries"]
    assert (facts["exit_code"], registry["source_id"], registry["records"]) == (0, "c", 2)
    [schema] = registry["schemas"]
    assert (schema["id"], schema["deletion"], schema["offset"]) == (1, "hard", 0)


def test_an_unreadable_record_and_a_missing_offset_end_with_3_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1), (b'{"keytype":"SCHEMA"}', b"{}"))
    assert schemas_command.main(lake) == 3
    out = capsys.readouterr().out
    assert "unreadable: offset 1 of _schemas: its subject is missing, or no text" in out


def test_missing_offsets_end_with_3_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_registry(tmp_path / "disk", [(0, [schema_pair("a", n, n)]) for n in (1, 2, 3)])
    [log] = (folder / "_schemas-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    ingested(folder, tmp_path / "lake")
    assert schemas_command.main(["--lake", str(tmp_path / "lake")]) == 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("missing: 1 offset ")
    assert last.endswith("[1, 2) of _schemas-0; each may have been a schema")


def test_a_lake_without_a_registry_ends_with_2_and_a_topic_of_another_name_can_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1), topic="my_registry")
    assert schemas_command.main(lake) == 2
    assert "the lake has no topic _schemas: ingest the disks" in capsys.readouterr().err
    assert schemas_command.main([*lake, "--registry", "my_registri"]) == 2
    assert "did you mean my_registry?" in capsys.readouterr().err
    assert schemas_command.main([*lake, "--registry", "my_registry"]) == 0
    assert schemas_command.main([*lake, "--source-id", "d"]) == 2
    assert "no rows of a cluster d" in capsys.readouterr().err


def test_an_export_is_reported_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1))
    folder = str(tmp_path / "out")
    assert schemas_command.main([*lake, "--export", folder, "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert schemas_command.main([*lake, "--export", folder]) == 0
    assert capsys.readouterr().err == f"seglake: 2 files in {folder}\n"


def test_names_from_the_topic_cannot_write_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a\x1b[2J", 1, 1, schemaType="\x1b]0;x\x07"))
    assert schemas_command.main(lake) == 3
    assert "\x1b" not in capsys.readouterr().out


def test_a_topic_of_other_records_is_no_registry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(make_log_dir(tmp_path / "disk", {("orders", 0): [0, 30]}), tmp_path / "lake")
    lake = ["--lake", str(tmp_path / "lake"), "--registry", "orders"]
    for command in (schemas_command.main(lake), deserialize_command.main([*lake, "--dry-run"])):
        assert command == 2
    assert (
        capsys.readouterr().err.count("topic orders is not a schema registry's topic: it has") == 2
    )


def test_an_export_onto_a_file_is_a_wrong_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1))
    (tmp_path / "file").write_text("kept")
    assert schemas_command.main([*lake, "--export", str(tmp_path / "file")]) == 2
    assert "is a file: give a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"
