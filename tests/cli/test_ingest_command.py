"""What `seglake ingest` does with its options, where no Spark is needed."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from seglake.cli import ingest_command
from support.lakes import read_arrow

_DISK = Path(__file__).parents[2] / "samples" / "broker-0" / "v2-lz4-0"
_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")


def _ingest(lake: Path, *options: str) -> int:
    return ingest_command.main(["--source", str(_DISK), "--lake", str(lake), *_ALONE, *options])


def test_dry_run_makes_no_lake_and_a_run_id_is_in_the_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert _ingest(lake, "--dry-run") == 0
    assert not lake.exists()
    assert _ingest(lake, "--run-id", "mine", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["run_id"] == "mine"
    assert set(read_arrow(lake, "records").column("run_id").to_pylist()) == {"mine"}


def test_format_parquet_makes_a_folder_without_a_log(tmp_path: Path) -> None:
    assert _ingest(tmp_path / "lake", "--format", "parquet") == 0
    assert (tmp_path / "lake" / "_SUCCESS").is_file()
    assert list(tmp_path.rglob("_delta_log")) == []
    assert list(tmp_path.rglob("*.parquet")) != []


# What only decoding, a remote store, Spark or a typed table needs.
_LATER = (
    *("numba", "pyarrow.compute", "pyspark", "google.protobuf"),
    *("multiprocessing.connection", "concurrent.futures.process", "crc32c", "email", "zipfile"),
    *("importlib.resources", "xml.etree.ElementTree", "seglake.task_engine.process_pool"),
    *("seglake.segment_codec.kernels.flush", "seglake.segment_decoding.split_decoder"),
    *("seglake.segment_decoding.erased_rows", "seglake.segment_decoding.gap_search"),
    *("seglake.segment_decoding.replica_compare", "seglake.segment_decoding.salvage_task"),
    *("seglake.storage.s3_storage", "seglake.storage.hdfs_storage"),
    *("seglake.environment.spark_home", "seglake.environment.jar_fetch"),
    *("seglake.lake.removed_rows", "seglake.pipelines.segment_ingest.parquet_export"),
    *("seglake.value_codec", "seglake.pipelines.lake_deserialize", "seglake.pipelines.lake_latest"),
)


def test_run_with_nothing_new_imports_nothing_that_only_decoding_needs(tmp_path: Path) -> None:
    source = ("--source", str(_DISK.with_name("v2-zstd-0")), "--lake", str(tmp_path))
    command = ["ingest", *source, *_ALONE]
    program = (
        "import sys; from seglake.cli.main import main; main(sys.argv[1:]);"
        f" print(sorted({{*{_LATER!r}}} & {{*sys.modules}}))"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program, *command], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert "numba" in first[-1]
    assert second[0].startswith("nothing new")
    assert second[-1] == "[]"


def test_workers_leave_nothing_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    scratch = Path(tempfile.mkdtemp())  # a short path, which a socket's may be
    source = Path(__file__).parents[2] / "samples" / "broker-0"
    call = ["ingest", "--source", str(source), "--lake", str(tmp_path / "lake")]
    call += ["--set", "limits.fail_on_quarantine=false"]
    several = ["--engine", "local", "--set", "limits.local_processes=2"]
    small = ["--set", "read.split_bytes=65536", "--set", "read.window_bytes=65536"]
    done = subprocess.run(
        [sys.executable, "-m", "seglake", *call, *several, *small],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "2070 records" in done.stdout
    assert [*scratch.iterdir()] == []
    scratch.rmdir()
