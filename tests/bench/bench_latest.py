"""Measures `seglake latest` against Spark's window query and MERGE over the same table.

    cd tests && ../.venv/bin/python -m bench.bench_latest --records 20000000 --keys 1000000

Keys come in random order. Each way makes a Delta table of the newest record of each key, and brings
it up to date after 10,000 more records, twice. Each is a process of its own, on all cores.
Processor time counts, for machines are shared. `--docs` writes the table in tests/bench/results.md.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.machine import PAGE, machine, today, updated
from bench.processes import adopt_orphans, measured
from seglake.environment.spark_session import delta_session
from seglake.lake.commit_protocol import Attempt
from seglake.lake.delta_commit import commit_wave
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import CHECKPOINTS, RECORDS, Table
from seglake.lake.waves import TopicWave
from seglake.settings.settings import SparkSettings
from seglake.storage.local_storage import LocalStorage

COMMAND = "make bench-latest DOCS=yes"
_TOPIC, _SOURCE, _PARTITIONS = "orders", "bench", 8
_FILE_ROWS, _GROUP_ROWS = 1_000_000, 100_000
_MORE = 10_000
_SEGLAKE, _MERGES = "`seglake latest`", "Spark, `MERGE`"
_FIRST_MS = 1_700_000_000_000
_NEWEST = """
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY partition, key ORDER BY offset DESC) AS place
  FROM delta.`{lake}/records` WHERE topic = 'orders' AND generation > {applied})
WHERE place = 1"""
_MERGE = """
MERGE INTO delta.`{table}` AS old USING ({newest}) AS new
ON old.partition = new.partition AND old.key = new.key
WHEN MATCHED AND new.offset > old.offset THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *"""


class Times(NamedTuple):
    """Seconds of the whole process: of all its cores together, and by the clock."""

    cpu_s: float
    wall_s: float


def main() -> int:
    """Measure, or be one of the measured ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--spark", choices=["nothing", "window", "merge", "more"])
    parser.add_argument("--lake")
    arguments = parser.parse_args()
    if arguments.spark:
        _by_spark(arguments.spark, arguments.lake)
        return 0
    adopt_orphans()
    with TemporaryDirectory() as folder:
        lake = f"{folder}/lake"
        made = Lake(lake, arguments.keys, arguments.value_bytes)
        made.add(arguments.records)
        found = {
            (_SEGLAKE, 0): _times(latest_command(lake)),
            ("Spark, window query", 0): _of_spark("window", lake),
            (_MERGES, 0): _of_spark("merge", lake),
            ("Spark's start alone", 0): _of_spark("nothing", lake),
        }
        for step in (1, 2):  # the first one also rewrites files as the first build left them
            made.add(_MORE)
            found[_SEGLAKE, step] = _times(latest_command(lake))
            found[_MERGES, step] = _of_spark("more", lake)
    text = _table(found, arguments.records, arguments.keys, arguments.value_bytes)
    sys.stdout.write(f"{text}\n")
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
    return 0


class Lake:
    """A lake whose topic gets records of random keys, without logs."""

    def __init__(self, folder: str, keys: int, value_bytes: int) -> None:
        self._tables = LakeTables(folder, LocalStorage())
        self._keys = keys
        self._chance = np.random.default_rng(1)
        self._values = self._chance.bytes(1 << 20), value_bytes
        self._end = 0  # of each partition
        self._generation = 0
        create_missing(self._tables)

    def add(self, records: int) -> None:
        """Add records in one commit."""
        each, self._generation = records // _PARTITIONS, self._generation + 1
        files = [
            file
            for partition in range(_PARTITIONS)
            for start in range(0, each, _FILE_ROWS)
            for file in self._records(partition, start, min(each, start + _FILE_ROWS))
        ]
        rows = [self._range(partition, each) for partition in range(_PARTITIONS)]
        batch = pa.RecordBatch.from_pylist(rows, schema=CHECKPOINTS.schema)
        files += self._written(CHECKPOINTS, [batch])
        attempt = Attempt(source_id=_SOURCE, attempt_id="a", run_id="r", now_ms=_FIRST_MS)
        wave = TopicWave(_TOPIC, self._generation, tuple(files))
        if not commit_wave(self._tables, attempt, [wave]).committed:
            raise RuntimeError("the records were not committed")
        self._end += each

    def _range(self, partition: int, records: int) -> dict[str, object]:
        return {
            "source_id": _SOURCE,
            "topic_id": "id",
            "topic": _TOPIC,
            "partition": partition,
            "kind": "ingest",
            "start_offset": self._end,
            "next_offset": self._end + records,
            "records": records,
            "isolation": "read_committed",
            "last_stable_offset": self._end + records,
            "attempt_id": "a",
            "run_id": "r",
            "generation": self._generation,
        }

    def _records(self, partition: int, start: int, stop: int) -> Iterator[DataFile]:
        groups = range(start, stop, _GROUP_ROWS)
        batches = (self._batch(partition, at, min(stop, at + _GROUP_ROWS)) for at in groups)
        yield from self._written(RECORDS, batches)

    def _batch(self, partition: int, start: int, stop: int) -> pa.RecordBatch:
        count = stop - start
        offsets = np.arange(self._end + start, self._end + stop)
        numbers = self._chance.integers(self._keys // _PARTITIONS, size=count)
        content, size = self._values
        places = self._chance.integers(len(content) - size, size=count).tolist()
        columns: Mapping[str, Any] = {  # Any: lists and arrays of many types
            "key": [b"%d-%d" % (partition, number) for number in numbers.tolist()],
            "value": [content[place : place + size] for place in places],
            "partition": np.full(count, partition, np.int32),
            "offset": offsets,
            "timestamp": (offsets + _FIRST_MS) * 1000,
            "timestamp_ms": offsets + _FIRST_MS,
            "timestampType": np.zeros(count, np.int32),
            "headers": [None] * count,
            "source_id": [_SOURCE] * count,
            "topic_id": ["id"] * count,
            "transaction_state": ["none"] * count,
            "batch_base_offset": offsets - offsets % 100,
            "run_id": ["r"] * count,
            "generation": np.full(count, self._generation),
        }
        schema = RECORDS.file_schema
        arrays = [pa.array(columns[field.name], field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _written(self, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[DataFile]:
        with ParquetFile(self._tables.storage, self._tables.lake_path, table, _TOPIC) as file:
            for batch in batches:
                file.write(batch)
            done = file.close()
        if done is not None:
            yield done


def latest_command(lake: str) -> list[str]:
    """Return the command that brings the table up to date."""
    return [sys.executable, "-m", "seglake", "latest", "--lake", lake, "--topics", _TOPIC, "-q"]


def _of_spark(way: str, lake: str) -> Times:
    tests = str(Path(__file__).parents[1])
    start = f"import sys; sys.path.insert(0, {tests!r}); import bench.bench_latest as bench; "
    command = [sys.executable, "-c", f"{start}sys.exit(bench.main())"]
    return _times([*command, "--spark", way, "--lake", lake])


def _times(command: Sequence[str]) -> Times:
    done = measured(command)
    return Times(done.cpu_s, done.wall_s)


def _by_spark(way: str, lake: str) -> None:
    """Make or update a table as a user of Spark would."""
    table = f"{lake}-{'merge' if way == 'more' else way}"
    settings = SparkSettings(properties=(("spark.driver.memory", "8g"),))
    with delta_session(settings, application="bench", verbosity=0, lake=lake) as session:
        if way == "nothing":
            return
        applied = 0
        if way == "more":
            [row] = session.sql(f"SELECT max(generation) AS g FROM delta.`{table}`").collect()
            applied = row.g
        newest = _NEWEST.format(lake=lake, applied=applied)
        if way == "window":
            session.sql(newest).write.format("delta").save(table)
            return
        if way == "merge":
            session.sql(newest).limit(0).write.format("delta").save(table)
        session.sql(_MERGE.format(table=table, newest=newest))


def _table(found: Mapping[tuple[str, int], Times], records: int, keys: int, size: int) -> str:
    """Return the times as a table for the page."""
    lines = [
        f"{records:,} records of {keys:,} keys in {_PARTITIONS} partitions, values of {size} bytes;"
        f" then {_MORE:,} records more, twice. Seconds of processor time, and by the clock, of the"
        f" whole process. {today()}, {machine()}.",
        "",
        f"| | first table | {_MORE:,} more | {_MORE:,} more |",
        "| --- | --- | --- | --- |",
    ]
    for way in dict.fromkeys(name for name, _ in found):
        times = [found.get((way, step)) for step in range(3)]
        cells = ("" if each is None else f"{each.cpu_s:.1f} ({each.wall_s:.1f})" for each in times)
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
