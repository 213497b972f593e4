"""Given schemas stand in for a registry that is lost, and complete one that is there."""

import json
from pathlib import Path

import pytest

from seglake.cli import deserialize_command, schemas_command
from support.lakes import ingested
from support.typed_disk import Pair, schema_pair, subject_deletion, typed_lake, write_registry


def facts(capsys: pytest.CaptureFixture[str]) -> list[tuple[int, str, str | None]]:
    """Id, text and deletion of each schema that was printed."""
    [registry] = json.loads(capsys.readouterr().out)["registries"]
    return [(each["id"], each["schema"], each["deletion"]) for each in registry["schemas"]]


def made(tmp_path: Path, *pairs: Pair) -> list[str]:
    ingested(write_registry(tmp_path / "disk", [(0, pairs)]), tmp_path / "lake")
    return ["--lake", str(tmp_path / "lake"), "--json"]


def test_an_export_stands_in_for_a_registry_that_the_lake_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = typed_lake(tmp_path / "whole", "_schemas")
    schemas_command.main(["--lake", str(whole), "--export", str(tmp_path / "out"), "-q"])
    lake = ["--lake", str(typed_lake(tmp_path / "lake", "avro_refs")), "--dry-run"]
    assert deserialize_command.main(lake) == 3
    assert "has no registry; give its schemas with --schemas" in capsys.readouterr().out
    for place in (tmp_path / "out", tmp_path / "out" / "schemas.json"):
        assert deserialize_command.main([*lake, "--schemas", str(place)]) == 0
        assert "avro_refs values: 40 records; 40 decode" in capsys.readouterr().out


def test_given_schemas_are_added_and_leave_the_state_of_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1), subject_deletion("a", 1))
    given = [
        {"subject": "a", "version": 1, "id": 1, "schema": '"int"'},
        {"subject": "a", "version": 2, "id": 2, "schema": '"long"'},
    ]
    (tmp_path / "given.json").write_text(json.dumps(given))
    assert schemas_command.main([*lake, "--schemas", str(tmp_path / "given.json")]) == 0
    assert facts(capsys) == [(1, '"int"', "soft"), (2, '"long"', None)]


@pytest.mark.parametrize(
    ("text", "code"), [('{"name":"F","size":2,"type":"fixed"}', 0), ('"long"', 3)]
)
def test_a_given_text_may_differ_in_form_but_not_in_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int
) -> None:
    stored = '{"type": "fixed", "name": "F", "size": 2}'
    lake = made(tmp_path, schema_pair("a", 1, 1, schema=stored))
    (tmp_path / "1.avsc").write_text(text)
    assert schemas_command.main([*lake, "--schemas", str(tmp_path)]) == code
    assert len(facts(capsys)) == 2


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("none", None, "no such file or folder"),
        ("", None, "it has neither schemas.json nor files such as 17.avsc"),
        ("list.json", "{}", "the file is no list of schemas"),
    ],
)
def test_a_place_without_schemas_ends_with_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    why: str,
) -> None:
    lake = made(tmp_path, schema_pair("a", 1, 1))
    (tmp_path / "given").mkdir()
    place = tmp_path / "given" / name
    if content is not None:
        place.write_text(content)
    assert schemas_command.main([*lake, "--schemas", str(place)]) == 2
    assert f"cannot read schemas from {place}: {why}" in capsys.readouterr().err
