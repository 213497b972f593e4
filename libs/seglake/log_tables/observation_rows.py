"""What runs saw of each partition, as rows of `observations` and back. Effect."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from seglake.kafka_log.observation import LeftRange, Observation, StoppedBy
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.blind_append import append_file, newest_rows
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import OBSERVATIONS
from seglake.log_tables.coverage import Coverage

# Runs record everything anew long before so many files are read, see `report/observed.py`.
_FAR_BACK_FILES, _FAR_BACK_ROWS = 64, 50_000

_NAMES = tuple(OBSERVATIONS.schema.names)
# Columns that are an attribute of the same name.
_PLAIN = tuple(
    name
    for name in _NAMES
    if name not in {"source_id", "topic_id", "topic", "partition", "stopped_by", "not_ingested"}
)


@dataclass(slots=True)
class NewestObservations:
    """The newest observation of each partition that was asked for, and what was read for them."""

    by_key: dict[PartitionKey, Observation] = field(default_factory=dict)
    file_count: int = 0
    row_count: int = 0


def newest_observations(
    tables: LakeTables, source_id: str, keys: Collection[PartitionKey], coverage: Coverage
) -> NewestObservations:
    """Read the newest observations of partitions, and no more files than they take.

    A partition that is new is in no file: what was never ingested is not looked for far back.

    Args:
        coverage: tells which topic id rows belong to that have none.
    """
    newest = NewestObservations()
    missing = set(keys)
    if not missing or not tables.has(OBSERVATIONS):
        return newest
    for rows in newest_rows(tables, OBSERVATIONS, _NAMES):
        newest.file_count += 1
        newest.row_count += rows.num_rows
        found = {
            observation.key: observation
            for observation in _observations(rows, source_id, coverage)
            if observation.key in missing
        }
        newest.by_key |= found
        missing -= found.keys()
        if newest.file_count >= _FAR_BACK_FILES or newest.row_count >= _FAR_BACK_ROWS:
            missing = {key for key in missing if coverage.frontier(key) is not None}
        if not missing:
            break
    return newest


def every_observation(
    tables: LakeTables, coverage_of: Callable[[str], Coverage]
) -> Iterator[tuple[str, Observation]]:
    """Yield all that runs saw of all partitions, each with its source, in no order.

    Args:
        coverage_of: of a source, tells which topic id rows belong to that have none.
    """
    if not tables.has(OBSERVATIONS):
        return
    for rows in newest_rows(tables, OBSERVATIONS, _NAMES):
        sources = rows.column("source_id").unique().to_pylist()
        for source_id in filter(None, sources):
            for observation in _observations(rows, source_id, coverage_of(source_id)):
                yield source_id, observation


def append_observations(
    tables: LakeTables, observations: Sequence[Observation], *, source_id: str, run_id: str
) -> None:
    """Write at least one observation, as one file.

    Raises:
        SeglakeError: they are not recorded, or may be; a later run sees what this one saw.
    """
    with ParquetFile(tables.storage, tables.lake_path, OBSERVATIONS, topic="") as output:
        output.write(OBSERVATIONS.to_arrow(_row(seen, source_id) for seen in observations))
        file = output.close()
    now_ms = int(max(seen.observed_at for seen in observations).timestamp() * 1000)
    if file is not None:
        append_file(tables, OBSERVATIONS, file, run_id=run_id, now_ms=now_ms)


def _row(observation: Observation, source_id: str) -> tuple[Any, ...]:
    key = observation.key
    values = {name: getattr(observation, name) for name in _PLAIN} | {
        "source_id": source_id,
        "topic_id": key.topic_id,
        "topic": key.topic,
        "partition": key.partition,
        "stopped_by": str(observation.stopped_by),
        "not_ingested": [left._asdict() for left in observation.not_ingested] or None,
    }
    return tuple(values[name] for name in _NAMES)


def _observations(rows: pa.Table, source_id: str, coverage: Coverage) -> Iterable[Observation]:
    # Any: the columns have many types.
    columns: dict[str, list[Any]] = {name: rows.column(name).to_pylist() for name in _NAMES}
    times = columns["observed_at"]
    # In the order of their times, so that the newest comes last, whoever wrote the file.
    for index in sorted(range(len(times)), key=times.__getitem__):
        source = columns["source_id"][index]
        if source != source_id:
            continue
        key = PartitionKey(
            columns["topic"][index], columns["partition"][index], columns["topic_id"][index]
        )
        yield Observation(
            key=coverage.joined_key(key),
            stopped_by=StoppedBy(columns["stopped_by"][index]),
            not_ingested=tuple(LeftRange(**left) for left in columns["not_ingested"][index] or ()),
            **{name: columns[name][index] for name in _PLAIN},
        )
