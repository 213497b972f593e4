"""A lake's past: runs that are made up from one that a real ingest made.

Each brings every topic the same rows as the first, a few offsets on, in files of its own, and is
committed as ingests commit. The files of `records` and `batches` are the same bytes for all
topics. The times of commits and of the log's files are made up, too.
"""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pyarrow as pa

from seglake.lake.appends import append_file
from seglake.lake.commit_protocol import Attempt
from seglake.lake.delta_commit import commit_wave
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_files
from seglake.lake.tables import BATCHES, CHECKPOINTS, OBSERVATIONS, RECORDS, TABLES, Table
from seglake.lake.waves import TopicWave
from seglake.log_tables.ledger_digest import LedgerDigest
from support.lake_rows import Lake, lake_at, new_lake, write_file
from support.lakes import Row, maintained

OFFSETS_A_RUN = 10
HOUR_MS = 3_600_000
_YOUNG_ENTRIES = 20
# What grows by so many from run to run.
_MOVING = {
    *("offset", "batch_base_offset", "base_offset", "last_offset"),
    *("start_offset", "next_offset", "log_start_offset", "log_end_offset"),
    *("high_watermark", "last_stable_offset", "last_batch_base_offset", "first_log_end_offset"),
}


@dataclass(slots=True)
class MadeRuns:
    """Makes a lake, and adds runs to it.

    Attributes:
        path: of the new lake.
        template: a lake that a real ingest made, of one run.
        last_run: is now; the one before it is an hour old.
        run_count: so many the lake has seen.
    """

    path: Path
    template: Path
    topics: Sequence[str]
    last_run: int
    run_count: int = 0
    _lake: Lake = field(init=False)
    _digest: LedgerDigest = field(init=False)
    _first: dict[str, list[Row]] = field(init=False)
    _began_ms: int = field(init=False)
    _generation: int = field(init=False, default=0)
    _aged: set[Path] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._lake = new_lake(self.path)
        self._digest = LedgerDigest(self._lake.tables)
        tables = (RECORDS, BATCHES, CHECKPOINTS, OBSERVATIONS)
        self._first = {table.name: _rows(lake_at(self.template), table) for table in tables}
        self._began_ms = time.time_ns() // 1_000_000 - self.last_run * HOUR_MS

    @property
    def now_ms(self) -> int:
        """The time of the newest run."""
        return self._time_ms(self.run_count)

    def add(self, count: int = 1) -> None:
        """More runs; several leave one file of each table and topic, as if they were maintained."""
        runs = range(self.run_count + 1, self.run_count + count + 1)
        self.run_count += count
        self._generation += 1
        attempt = Attempt(
            source_id=self._first[CHECKPOINTS.name][0]["source_id"],
            attempt_id=str(uuid.uuid4()),
            run_id=f"run-{self.run_count}",
            now_ms=self.now_ms,
        )
        tables, now_ms = self._lake.tables, self.now_ms
        outcome = commit_wave(tables, attempt, list(self._waves(attempt, runs)))
        if outcome.lost:
            raise RuntimeError(f"{outcome.lost} were lost")
        seen = self._written(OBSERVATIONS, "", self._first[OBSERVATIONS.name], attempt, runs)
        append_file(tables, OBSERVATIONS, seen, run_id=attempt.run_id, now_ms=now_ms)
        self._digest.read()
        self._digest.store(if_due=True)
        self._age()

    def _waves(self, attempt: Attempt, runs: range) -> Iterator[TopicWave]:
        shared = [self._shared_files(table, attempt, runs) for table in (RECORDS, BATCHES)]
        for topic, *files in zip(self.topics, *shared, strict=True):
            first = [row for row in self._first[CHECKPOINTS.name] if row["topic"] == topic]
            ledger = self._written(CHECKPOINTS, topic, first, attempt, runs)
            yield TopicWave(topic, self._generation, (*files, ledger))

    def maintain(self) -> float:
        """Maintain the lake as of the newest run; how many seconds it took."""
        self._age_files()
        now_ns = self.now_ms * 1_000_000
        with mock.patch.object(time, "time_ns", return_value=now_ns):
            summary = maintained(self.path, processes=os.cpu_count() or 1)
        if summary.exit_code:
            raise RuntimeError(summary.to_text())
        self._age()
        return summary.seconds

    def _shared_files(self, table: Table, attempt: Attempt, runs: range) -> Iterator[DataFile]:
        """A file for each topic; all but the first are links to it."""
        first = self._first[table.name]
        rows = first[: len(first) // len(self.topics)]
        made = self._written(table, self.topics[0], rows, attempt, runs)
        yield made
        folder = self.path / table.name
        for topic in self.topics[1:]:
            path = f"topic={topic}/{uuid.uuid4().hex}.parquet"
            (folder / path).parent.mkdir(exist_ok=True)
            os.link(folder / made.path, folder / path)
            yield made._replace(topic=topic, path=path)

    def _written(
        self, table: Table, topic: str, first: Sequence[Row], attempt: Attempt, runs: range
    ) -> DataFile:
        """The rows of the first run as these runs have them, in a file."""
        moved = [row for run in runs for row in self._moved(table, first, attempt, run)]
        batch = pa.RecordBatch.from_pylist(moved, schema=table.file_schema)
        return write_file(self._lake, table, topic, batch)

    def _moved(
        self, table: Table, first: Sequence[Row], attempt: Attempt, run: int
    ) -> Iterator[Row]:
        time_of_run = datetime.fromtimestamp(self._time_ms(run) / 1000, UTC)
        own = {
            "run_id": attempt.run_id,
            "attempt_id": attempt.attempt_id,
            "generation": self._generation,
            "committed_at": time_of_run,
            "observed_at": time_of_run,
        }
        own = {name: value for name, value in own.items() if name in table.file_schema.names}
        for row in first:
            distance = (run - 1) * OFFSETS_A_RUN
            moving = {name: row[name] + distance for name in _MOVING & row.keys()}
            if "offset_sum" in row:
                moving["offset_sum"] = row["offset_sum"] + row["records"] * distance
            yield {**row, **own, **moving}

    def _time_ms(self, run: int) -> int:
        return self._began_ms + run * HOUR_MS

    def _age_files(self) -> None:
        """The same for data files: a vacuum asks how old those are that no version names."""
        time_s = self.now_ms / 1000
        for path in self.path.glob("[a-z]*/**/*.parquet"):
            if path.stat().st_mtime > time_s:  # as written: its real age
                os.utime(path, (time_s, time_s))

    def _age(self) -> None:
        """Give older files of the logs the time of the newest run.

        The newest entries stay young, as they would be: else each checkpoint would delete them.
        """
        time_s = self.now_ms / 1000
        for table in TABLES:
            log = self.path / table.name / "_delta_log"
            new = sorted(set(log.iterdir()) - self._aged)
            for path in new[:-_YOUNG_ENTRIES]:
                os.utime(path, (time_s, time_s))
                self._aged.add(path)


def _rows(lake: Lake, table: Table) -> list[Row]:
    paths = lake.tables.file_paths(table)
    return read_files(lake.tables.storage, table, paths, table.file_schema.names).to_pylist()
