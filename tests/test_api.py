"""`import seglake`: the commands as functions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seglake
from support.typed_disk import typed_lake

_DISK = Path(__file__).parents[1] / "samples" / "broker-0"
_PARTITION = _DISK / "v2-lz4-0"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("api") / "lake"
    seglake.ingest(_DISK, lake, engine="local")
    return lake


def test_ingest_returns_what_it_did_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    summary = seglake.ingest([_PARTITION], tmp_path, engine="local", run_id="mine")
    assert (summary.run_id, summary.exit_code, summary.partitions) == ("mine", 0, 1)
    assert summary.records > 0
    assert seglake.ingest(str(_PARTITION), str(tmp_path), engine="local").records == 0
    assert capfd.readouterr() == ("", "")


def test_options_are_those_of_the_command(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    planned = seglake.ingest(
        _DISK,
        lake,
        engine="local",
        topics=["v2-*", "!v2-none"],
        set=["limits.local_processes=1"],
        dry_run=True,
    )
    assert planned.is_dry_run
    assert 0 < planned.partitions < 10
    assert not lake.exists()


def test_tables_are_delta_s_own(lake: Path) -> None:
    tables = seglake.tables(lake)
    assert {"records", "batches", "quarantine", "gaps", "checkpoints"} <= tables.keys()
    assert tables["records"].to_pyarrow_table().num_rows == 2070


def test_audit_and_replay_of_a_lake(lake: Path) -> None:
    found = seglake.audit(lake, _DISK, engine="local")
    assert (found.exit_code, found.to_mapping()["records"]) == (0, 2070)
    assert "2070 records are equal" in found.to_text()
    assert seglake.audit(lake, engine="local").disks is None
    assert seglake.replay(lake, engine="local", dry_run=True).exit_code == 0


def test_audit_names_globs_that_select_nothing(lake: Path) -> None:
    globs = 'select.topics=["v2-none", "v2-lz5"]'
    found = seglake.audit(lake, _DISK, engine="local", set=[globs])
    assert (found.exit_code, found.lake.notes) == (3, ())
    said = "v2-lz5 selects no topic of the sources; did you mean v2-lz4?"
    assert f"PROBLEM  not compared: {said}" in found.to_text()
    globs = 'select.topics=["v2-none", "v3-*"]'
    found = seglake.audit(lake, _DISK, engine="local", set=[globs])
    note = "v3-* selects no topic of the sources"
    assert (found.exit_code, found.lake.notes) == (0, (note,))
    assert f"note: {note}" in found.to_text().splitlines()
    assert [each["text"] for each in found.to_mapping()["findings"]] == [note]
    with pytest.raises(seglake.WrongCallError, match="is selected by v2-lz5"):
        seglake.audit(lake, _DISK, engine="local", set=['select.topics=["v2-lz5"]'])


def test_inspect_yields_what_the_command_prints_as_json() -> None:
    with pytest.raises(seglake.WrongCallError, match="no such file"):
        seglake.inspect("/nowhere")
    lines = [*seglake.inspect(_PARTITION)]
    assert len(lines) > 1
    assert all(isinstance(line, dict) for line in lines)


def test_schemas_and_counts_are_what_the_commands_print(tmp_path: Path) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "avro_refs")
    assert len(seglake.schemas(lake).to_mapping()["registries"][0]["schemas"]) == 63
    counts = seglake.deserialize(lake, dry_run=True, topics=["avro_refs"])
    assert (counts.exit_code, [p["decoded"] for p in json.loads(counts.to_json())["parts"]]) == (
        0,
        [0, 40],
    )
    done = seglake.deserialize(lake, engine="local", topics=["avro_refs"])
    assert json.loads(done.to_json())["topics"][0]["typed_rows"] == 40
    with pytest.raises(seglake.WrongCallError, match="the lake has no topic other"):
        seglake.schemas(lake, registry="other")
    with pytest.raises(seglake.WrongCallError, match="cannot read schemas from"):
        seglake.deserialize(lake, dry_run=True, schemas=tmp_path / "none")


def test_wrong_calls_are_of_one_class(tmp_path: Path) -> None:
    with pytest.raises(seglake.WrongCallError, match="/nowhere"):
        seglake.ingest("/nowhere", tmp_path, engine="local")
    with pytest.raises(seglake.WrongCallError, match=r"from isolation="):
        seglake.ingest(_DISK, tmp_path, engine="local", isolation="dirty")
    with pytest.raises(seglake.WrongCallError, match="no table records"):
        seglake.tables(tmp_path)
    with pytest.raises(seglake.WrongCallError, match="config must be a list"):
        seglake.ingest(_DISK, tmp_path, config="settings.toml")
    with pytest.raises(seglake.WrongCallError, match=r"no engine 'Local'.*; did you mean local"):
        seglake.ingest(_DISK, tmp_path, engine="Local")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="keyword argument 'topic'; did you mean topics"):
        seglake.ingest(_DISK, tmp_path, topic="orders")  # type: ignore[call-arg]
    assert issubclass(seglake.WrongCallError, seglake.SeglakeError)


def test_import_is_light_and_module_is_the_command() -> None:
    program = "import sys, seglake; print(sorted({'pyspark', 'numba', 'pyarrow'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"
    called = [sys.executable, "-m", "seglake", "--version"]
    done = subprocess.run(called, capture_output=True, text=True)
    assert done.stdout == f"seglake {seglake.__version__}\n"


@pytest.mark.spark
def test_a_running_spark_session_is_used_and_left_running(
    spark_session: "object", tmp_path: Path
) -> None:
    from pyspark import SparkContext

    small = ["read.split_bytes=65536", "read.window_bytes=65536"]
    assert seglake.ingest(_PARTITION, tmp_path, set=small).records > 0
    assert SparkContext._active_spark_context is not None
    with pytest.raises(seglake.WrongCallError, match=r"spark\.master has no effect"):
        seglake.ingest(_PARTITION, tmp_path / "other", set=small, master="local[3]")
