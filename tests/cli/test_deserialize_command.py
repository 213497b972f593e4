"""`seglake deserialize --dry-run` prints the counts, and its exit code says whether all decode."""

import json
from pathlib import Path

import pytest

from seglake.cli import deserialize_command
from support.typed_disk import typed_lake


def test_a_topic_that_decodes_whole_ends_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = ["--lake", str(typed_lake(tmp_path / "lake", "_schemas", "avro_refs", "avro_tree"))]
    assert deserialize_command.main([*lake, "--dry-run", "--topics", "avro_refs"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "40 of 40 keys and values decode",
        "avro_refs keys: 40 records, 40 without a key",
        "avro_refs values: 40 records; 40 decode",
        "  id 30 AVRO ref.billing.Invoice: 40",
    ]
    assert deserialize_command.main([*lake, "--dry-run", "-q"]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == ("160 of 160 keys and values decode", "")


def test_rejects_end_with_3_and_json_has_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "avro_bad")
    assert deserialize_command.main(["--lake", str(lake), "--dry-run", "--json"]) == 3
    facts = json.loads(capsys.readouterr().out)
    key, value = facts["parts"]
    assert (facts["exit_code"], key["topic"], key["part"]) == (3, "avro_bad", "key")
    assert value["rejects"]["bad_enum"] == 3
    assert value["first_rejects"]["bad_enum"] == "avro_bad-0 offset 48, byte 8"


def test_wrong_calls_end_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["--lake", str(typed_lake(tmp_path / "lake", "avro_refs"))]
    assert deserialize_command.main([*lake, "--dry-run", "--registry", "_schema"]) == 2
    assert "the lake has no topic _schema:" in capsys.readouterr().err
    none = ["--lake", str(tmp_path / "none")]
    assert deserialize_command.main([*none, "--dry-run"]) == 2
    assert deserialize_command.main([*none, "--engine", "local"]) == 2


def test_a_run_writes_tables_and_says_what_it_decoded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "avro_refs", "avro_bad")
    run = ["--lake", str(lake), "--engine", "local"]
    assert deserialize_command.main([*run, "--topics", "avro_refs"]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("40 typed rows of 1 topic (")
    assert line == "avro_refs: 40 records, 40 in typed/avro_refs"
    assert deserialize_command.main([*run, "--json"]) == 3
    facts = json.loads(capsys.readouterr().out)
    [topic] = facts["topics"]
    assert (topic["topic"], topic["typed_rows"], topic["value_rejects"]) == ("avro_bad", 160, 67)
    records = ["--metrics", str(tmp_path / "m.prom"), "--openlineage", str(tmp_path / "lineage")]
    assert deserialize_command.main([*run, "-q", *records]) == 0
    out, err = capsys.readouterr()
    assert (out.startswith("nothing new to decode, and 71 rejects of earlier runs ("), err) == (
        True,
        "",
    )
    metrics = (tmp_path / "m.prom").read_text("utf-8")
    assert "seglake_last_run_standing_rejects{" in metrics
    done = json.loads((tmp_path / "lineage").read_text("utf-8").splitlines()[-1])
    names = {Path(each["name"]).name for each in done["outputs"]}
    assert (done["eventType"], "value_rejects" in names) == ("COMPLETE", True)
