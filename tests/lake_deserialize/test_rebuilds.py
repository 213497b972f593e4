"""`--rebuild` writes the typed tables of a topic anew, exactly once, wherever a run dies."""

import json
import shutil
from pathlib import Path

import pytest

from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.pipelines.lake_deserialize.deserialize_summary import DeserializeSummary
from support.audits import audited
from support.dying import Died, dying
from support.lakes import maintained
from support.typed_disk import glue_schemas, typed_lake
from support.typed_lakes import add_schemas, add_values, decoded, int_of, made
from support.typed_rows import table_rows, typed_names, typed_rows

_REBUILD = Again(everything=True)
_ID_2 = bytes(4) + b"\x02"
_STEPS = ("drop", "value_rejects", "typed/t", "typed/t__R", "typed_checkpoints", "redo", "cleaned")


def is_right(lake: Path) -> bool:
    """Whether the lake has each record of `grown` once, in columns of all its schemas."""
    [values, records] = [typed_rows(lake, name) for name in ("t", "t__R")]
    assert [(row["_offset"], row["value"], row["_tombstone"]) for row in values] == [
        (0, 1, False),
        (2, None, True),
        (3, 1 << 40, False),
    ]
    assert [(row["_offset"], row["a"]) for row in records] == [(4, 7)]
    assert [row["offset"] for row in table_rows(lake, "value_rejects")] == [1]
    columns = {row["column"]: row["type"] for row in table_rows(lake, "typed_columns")}
    assert columns == {"value": "bigint", "a": "int"}
    audit = audited(lake)
    assert audit.typed is not None
    return audit.exit_code == ExitCode.DONE and not audit.typed.notes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose first run knew fewer schemas, so that its columns are narrow."""
    folder = tmp_path_factory.mktemp("grown")
    lake = made(folder, int_of(1), b"bad", None)
    decoded(lake, "t")
    schema = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
    add_schemas(lake, folder / "registry-2", '"long"', schema)
    large = b"\x80\x80\x80\x80\x80\x40"
    add_values(lake, folder / "more", _ID_2 + large, bytes(4) + b"\x03\x0e", start=3)
    decoded(lake, "t")
    assert "value__bigint" in typed_rows(lake, "t")[0]
    return folder


@pytest.fixture
def grown(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def test_a_topic_is_written_anew_with_the_columns_of_all_its_schemas(grown: Path) -> None:
    summary = decoded(grown, "t", again=_REBUILD)
    [topic] = summary.topics
    assert (topic.records, topic.typed_rows, topic.value_rejects) == (5, 4, 1)
    assert typed_names(grown, "t") == ["t", "t__R"]
    assert is_right(grown)
    assert decoded(grown, "t").topics == []


@pytest.mark.parametrize("step", _STEPS)
def test_a_rebuild_that_died_is_completed_by_the_next_run(grown: Path, step: str) -> None:
    with pytest.raises(Died):
        decoded(grown, "t", again=_REBUILD, after=dying(step))
    decoded(grown, "t")
    assert is_right(grown)
    assert not [*(grown / "value_rejects" / "_seglake" / "drops").iterdir()]


@pytest.mark.parametrize("step", ["value_rejects", "typed/t"])
def test_a_rebuild_that_died_is_completed_by_a_maintenance_too(grown: Path, step: str) -> None:
    with pytest.raises(Died):
        decoded(grown, "t", again=_REBUILD, after=dying(step))
    assert maintained(grown).recovered == ["t"]
    assert not [*(grown / "value_rejects" / "_seglake" / "drops").iterdir()]
    audit = audited(grown)
    assert audit.typed is not None
    assert (audit.exit_code, audit.typed.notes) == (ExitCode.DONE, [])
    decoded(grown, "t")
    assert is_right(grown)


def test_a_run_that_decodes_meanwhile_commits_nothing(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", int_of(2), start=1)
    other: list[DeserializeSummary] = []

    def meanwhile(step: str) -> None:
        if step == "redo" and not other:
            other.append(decoded(lake, "t", again=_REBUILD))

    summary = decoded(lake, "t", after=meanwhile)
    assert "another run was faster" in summary.to_text()
    assert [topic.typed_rows for topic in other[0].topics] == [2]
    assert [row["value"] for row in typed_rows(lake, "t")] == [1, 2]


def test_a_rebuild_that_loses_against_another_run_drops_nothing(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", int_of(2), start=1)
    others: list[DeserializeSummary] = []

    def meanwhile(step: str) -> None:
        if step == "drop" and not others:
            (tmp_path / "lake" / "value_rejects" / "_seglake" / "drops").rename(tmp_path / "aside")
            others.append(decoded(lake, "t"))
            (tmp_path / "aside").rename(tmp_path / "lake" / "value_rejects" / "_seglake" / "drops")

    summary = decoded(lake, "t", again=_REBUILD, after=meanwhile)
    assert (summary.exit_code, "another run was faster" in summary.to_text()) == (3, True)
    assert [row["value"] for row in typed_rows(lake, "t")] == [1, 2]
    assert audited(lake).exit_code == ExitCode.DONE


def test_merged_files_are_dropped_too(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", int_of(2), start=1)
    decoded(lake, "t")
    maintained(lake)
    decoded(lake, "t", again=_REBUILD)
    assert [row["value"] for row in typed_rows(lake, "t")] == [1, 2]
    assert len(table_rows(lake, "typed_checkpoints")) == 2
    assert audited(lake).exit_code == ExitCode.DONE


def is_kept(lake: Path, topic: str, summary: DeserializeSummary, left_out: str) -> bool:
    """Whether a rebuild left a topic of two rows out, said why, and dropped nothing."""
    assert summary.left_out == {topic: f"{topic}: 2 typed rows stand and {left_out}"}
    assert (summary.exit_code, summary.topics) == (ExitCode.LOOK, [])
    assert not [*(lake / "value_rejects" / "_seglake" / "drops").glob("*")]
    audit = audited(lake)
    assert audit.typed is not None
    assert (audit.exit_code, audit.typed.notes) == (ExitCode.DONE, [])
    return len(typed_rows(lake, topic)) == 2 and table_rows(lake, "value_rejects") == []


@pytest.mark.parametrize("subjects", [{"t-value": "nosuch"}, {"t-key": "nosuch"}])
@pytest.mark.parametrize("values", [(b'{"a": 1}', b'{"a": 2}'), (int_of(1), int_of(2))])
def test_a_rebuild_with_a_missing_subject_drops_nothing(
    tmp_path: Path, values: tuple[bytes, bytes], subjects: dict[str, str]
) -> None:
    lake = made(tmp_path, *values)
    decoded(lake, "t")
    with pytest.raises(WrongCallError, match="no registry has a subject nosuch"):
        decoded(lake, "t", again=_REBUILD, subjects=subjects)
    assert len(typed_rows(lake, "t")) == 2
    assert [topic.typed_rows for topic in decoded(lake, "t", again=_REBUILD).topics] == [2]


def test_a_rebuild_without_the_subject_of_bare_values_drops_nothing(tmp_path: Path) -> None:
    lake = made(tmp_path, b"\x02", b"\x04")
    decoded(lake, "t", subjects={"t-value": "t-value"})
    add_values(lake, tmp_path / "more", b"\x06", start=2)  # is not decoded either
    reason = (
        "its values neither name a schema that is known nor are JSON: give the --schemas and"
        " values.subjects of the earlier runs"
    )
    assert is_kept(lake, "t", decoded(lake, "t", again=_REBUILD), reason)


@pytest.mark.parametrize(
    ("id_bytes", "reason"),
    [
        (
            4,
            "none of its values names a schema that is known: give the --schemas of the earlier"
            " runs",
        ),
        (
            8,
            "its values neither name a schema that is known nor are JSON: give the --schemas and"
            " values.subjects of the earlier runs",
        ),
    ],
)
def test_a_rebuild_that_knows_no_schema_any_more_drops_nothing(
    tmp_path: Path, id_bytes: int, reason: str
) -> None:
    lake, versions = tmp_path / "lake", tmp_path / "versions.json"
    frame = b"\0" + (9).to_bytes(id_bytes, "big")
    add_values(lake, tmp_path / "values", frame + b"\x02", frame + b"\x04")
    item = {"artifactId": "a", "version": "1", "artifactType": "AVRO", "content": '"int"'}
    versions.write_text(json.dumps([{**item, "contentId": 9}]), "utf-8")
    decoded(lake, "t", schemas=str(versions))
    shutil.rmtree(lake / "schemas")
    assert is_kept(lake, "t", decoded(lake, "t", again=_REBUILD), reason)


def test_a_rebuild_has_the_schemas_of_glue_from_earlier_runs(tmp_path: Path) -> None:
    lake = typed_lake(tmp_path / "lake", "glue_like", "_schemas")
    first = decoded(lake, "glue_like", schemas=str(glue_schemas()))
    rows, rejects = typed_rows(lake, "glue_like"), table_rows(lake, "value_rejects")
    assert (len(rows), [topic.typed_rows for topic in first.topics]) == (120, [120])
    [topic] = decoded(lake, "glue_like", again=_REBUILD).topics
    assert topic.typed_rows == 120
    assert [{**row, "_run_id": ""} for row in typed_rows(lake, "glue_like")] == [
        {**row, "_run_id": ""} for row in rows
    ]
    rows = typed_rows(lake, "glue_like")
    shutil.rmtree(lake / "schemas")
    summary = decoded(lake, "glue_like", again=_REBUILD)
    assert summary.left_out["glue_like"] == (
        "glue_like: 120 typed rows stand and none of its values names a schema that is known: give"
        " the --schemas of the earlier runs"
    )
    assert summary.exit_code is ExitCode.LOOK
    assert typed_rows(lake, "glue_like") == rows
    assert len(table_rows(lake, "value_rejects")) == len(rejects)


def _schema_folder(folder: Path, **texts: str) -> str:
    """A folder for `--schemas`: the schema of each id."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name.removeprefix('id')}.avsc").write_text(text, "utf-8")
    return str(folder)


@pytest.mark.parametrize("given", [[], ["id9"]], ids=["none", "one of two"])
def test_a_rebuild_decodes_with_all_schemas_of_earlier_runs(
    tmp_path: Path, given: list[str]
) -> None:
    lake, both = tmp_path / "lake", {"id9": '"int"', "id10": '"string"'}
    nine, ten = bytes(4) + b"\x09\x02", bytes(4) + b"\x0a\x02a"
    add_values(lake, tmp_path / "values", nine, ten, nine)
    decoded(lake, "t", schemas=_schema_folder(tmp_path / "first", **both))
    some = {name: both[name] for name in given}
    again = _schema_folder(tmp_path / "again", **some) if some else None
    [topic] = decoded(lake, "t", again=_REBUILD, schemas=again).topics
    assert (topic.typed_rows, topic.value_rejects) == (3, 0)
    assert [(row["value"], row["value__string"]) for row in typed_rows(lake, "t")] == [
        (1, None),
        (None, "a"),
        (1, None),
    ]
    assert audited(lake).exit_code == ExitCode.DONE


def test_a_schema_that_is_given_again_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    add_values(lake, tmp_path / "values", bytes(4) + b"\x09\x04")
    wrong = decoded(lake, "t", schemas=_schema_folder(tmp_path / "wrong", id9='"boolean"'))
    assert [topic.value_rejects for topic in wrong.topics] == [1]
    decoded(lake, "t", again=_REBUILD, schemas=_schema_folder(tmp_path / "right", id9='"int"'))
    decoded(lake, "t", again=_REBUILD)
    assert [row["value"] for row in typed_rows(lake, "t")] == [2]
    assert [row["schema"] for row in table_rows(lake, "schemas")] == ['"int"']
