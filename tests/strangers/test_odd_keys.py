"""Objects on S3 whose keys are no paths: an empty part, dots, a slash in front."""

import io
from pathlib import Path

import pytest

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages
from seglake.task_engine.engine import LocalEngine
from support.made_logs import make_log_dir
from support.servers.key_store import key_store
from support.taken import offsets_taken

_EDGES = {("orders", 0): [0, 10], ("users", 0): [0, 5]}


@pytest.fixture
def objects(tmp_path: Path) -> dict[str, bytes]:
    """The objects of a log dir, by key."""
    log_dir = make_log_dir(tmp_path / "d", _EDGES)
    files = [path for path in log_dir.rglob("*") if path.is_file()]
    return {f"logs/{path.relative_to(log_dir)}": path.read_bytes() for path in files}


def _ingested(objects: dict[str, bytes], lake: Path, *sources: str) -> IngestSummary:
    with key_store(objects) as properties, LocalEngine(1) as engine:
        storage = Storages(HadoopProperties(properties))
        scan = ScanContext(
            storage=storage,
            settings=Settings(),
            engine=engine,
            reporter=RunReporter(io.StringIO()),
        )
        return ingest(sources, str(lake), scan)


@pytest.mark.parametrize("key", ["logs/orders-0//x", "logs/orders-0/./x", "logs/orders-0/../x"])
def test_a_partition_with_a_key_that_is_no_path_is_left_out_and_named(
    key: str, objects: dict[str, bytes], lake: Path
) -> None:
    plain = _ingested(objects, lake.with_name("plain"), "s3://b/logs")
    assert (plain.exit_code, plain.records) == (0, 15)
    summary = _ingested({**objects, key: b"x"}, lake, "s3://b/logs")
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert key.removesuffix("x") in summary.to_text()
    assert "copy the object to another key" in summary.to_text()
    assert (offsets_taken(lake), offsets_taken(lake, "users")) == ([], [*range(5)])


def test_a_source_with_such_a_key_is_refused_alone_and_left_out_beside_others(
    objects: dict[str, bytes], lake: Path
) -> None:
    odd = {**objects, "copy//orders-7/x": b"x"}
    with pytest.raises(
        WrongSourceError, match=r"list s3://b/copy: a part of the key copy// is empty"
    ):
        _ingested(odd, lake, "s3://b/copy")
    summary = _ingested(odd, lake, "s3://b/copy", "s3://b/logs")
    assert (summary.exit_code, list(summary.left_out)) == (3, ["s3://b/copy"])
    assert offsets_taken(lake) == [*range(10)]


def test_keys_that_begin_with_a_slash_are_named(objects: dict[str, bytes], lake: Path) -> None:
    summary = _ingested({**objects, "/orders-7/x": b"x"}, lake, "s3://b")
    assert (summary.exit_code, summary.records) == (3, 15)
    assert "keys that begin with a slash: copy the objects to other keys" in summary.to_text()
