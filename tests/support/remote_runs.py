"""Runs with sources and lakes anywhere, in this process and in several at once."""

import io
import json
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seglake.cli import main as cli
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import RECORDS, TABLES
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages
from seglake.task_engine.engine import Engine, LocalEngine
from support.lakes import content

APP = "race"


def ingested_at(
    source: str,
    lake: str,
    properties: HadoopProperties,
    *,
    engine: Engine | None = None,
    sections: Mapping[str, Mapping[str, object]] | None = None,
) -> IngestSummary:
    """Ingest from anywhere to anywhere, in this process unless there is an engine."""
    settings = Settings.from_mappings([("test", {**(sections or {})})])
    with LocalEngine(1) as own:
        return ingest(
            [source],
            lake,
            ScanContext(
                storage=Storages(properties),
                settings=settings,
                engine=own if engine is None else engine,
                reporter=RunReporter(io.StringIO()),
            ),
        )


class Ended(NamedTuple):
    """Result of a command; `errors` is its output on stderr."""

    code: int
    out: str
    errors: str


def in_process(environment: Mapping[str, str], arguments: Sequence[str]) -> Ended:
    """Run a command in this process, which has loaded everything already."""
    # `cat` prints bytes.
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.delenv("SPARK_HOME", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        code = cli.main(arguments)
    out.seek(0)
    return Ended(code, out.read(), errors.getvalue())


def all_content(lake: Path) -> dict[str, list[str]]:
    """Every table's rows but for what each run makes anew."""
    return {table.name: content(lake, table.name) for table in TABLES}


def run_together(
    target: Callable[..., None], folder: Path, count: int, *arguments: object
) -> list[Any]:
    """Run the target in several processes at once, which get a barrier; what each wrote down.

    Any: a list of what the target says.
    """
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(count)
    endings = [folder / f"ending-{number}" for number in range(count)]
    processes = [
        spawn.Process(target=target, args=(barrier, *arguments, ending)) for ending in endings
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(200)
    codes = [process.exitcode for process in processes]
    if any(codes):
        raise RuntimeError(f"the processes ended with {codes}")
    return [json.loads(ending.read_text()) for ending in endings]


def ingest_beside_others(
    barrier: Barrier,
    source: str,
    lakes: list[str],
    properties: Mapping[str, str],
    ending: Path,
) -> None:
    """One process's life: ingest into lake after lake, at the same moment as others."""
    endings = []
    for lake in lakes:
        barrier.wait(120)
        summary = ingested_at(source, lake, HadoopProperties(properties))
        endings.append([summary.exit_code, summary.records])
    ending.write_text(json.dumps(endings))


def commit_beside_others(
    barrier: Barrier,
    lake: str,
    round_count: int,
    properties: Mapping[str, str],
    ending: Path,
) -> None:
    """One process's life: in each round commit what all the others commit too, and say who won."""
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties, Transaction

    tables = LakeTables(lake, Storages(HadoopProperties(properties)))
    won = []
    for number in range(1, round_count + 1):
        handle = tables.open(RECORDS)
        barrier.wait(120)
        try:
            handle.create_write_transaction(
                [],
                mode="append",
                schema=RECORDS.schema,
                partition_by=list(RECORDS.partition_by),
                commit_properties=CommitProperties(app_transactions=[Transaction(APP, number, 0)]),
            )
            won.append(True)
        except DeltaError:  # lost; or confused by a store that lists one entry twice
            won.append(False)
        barrier.wait(120)
    ending.write_text(json.dumps(won))
