"""Converts observations to rows of `observations` and back."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.kafka_log.observation import LeftRange, Observation, StoppedBy, UnreadPlace
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.appends import append_file, newest_rows
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import OBSERVATIONS
from seglake.log_tables.source_ledger import SourceLedger

# Limits of a search. Runs record all observations in a new file long before these limits
# (`report/observed.py`).
_FAR_BACK_FILES, _FAR_BACK_ROWS = 64, 50_000

_NAMES = tuple(OBSERVATIONS.schema.names)
# Columns that are attributes of an observation under the same name.
_PLAIN = tuple(
    name
    for name in _NAMES
    if name not in {"source_id", "topic_id", "topic", "partition", "stopped_by", "not_ingested"}
)


class NewestPlaces(NamedTuple):
    """Files and folders that a run did not read and that belong to no log; `time` is that run's."""

    observed_at: datetime
    places: tuple[UnreadPlace, ...] = ()


@dataclass(slots=True)
class NewestObservations:
    """Newest observation of each partition, and how many files and rows were read to find them.

    Attributes:
        by_key: the newest observation of each partition that has one.
        places: files and folders that belong to no partition's log and that the newest run did not
            read.
    """

    by_key: dict[PartitionKey, Observation] = field(default_factory=dict)
    places: tuple[UnreadPlace, ...] = ()
    file_count: int = 0
    row_count: int = 0


def newest_observations(
    tables: LakeTables, source_id: str, keys: Collection[PartitionKey], ledger: SourceLedger
) -> NewestObservations:
    """Return the newest observations of partitions; read as few files as possible.

    The search for partitions without ingested ranges is limited, because no file has a new
    partition.

    Args:
        tables: the lake.
        source_id: source of the partitions.
        keys: the partitions.
        ledger: ledger of the source, which completes rows that lack the topic id.
    """
    newest = NewestObservations()
    missing = set(keys)
    if not missing or not tables.has(OBSERVATIONS):
        return newest
    has_places = False
    for rows in newest_rows(tables, OBSERVATIONS, _NAMES):
        newest.file_count += 1
        last = None if has_places else newest_places(rows).get(source_id)
        if last is not None:
            newest.places, has_places = last.places, True
        newest.row_count += rows.num_rows
        found = {
            observation.key: observation
            for observation in _observations(rows, source_id, ledger)
            if observation.key in missing
        }
        newest.by_key |= found
        missing -= found.keys()
        if newest.file_count >= _FAR_BACK_FILES or newest.row_count >= _FAR_BACK_ROWS:
            missing = {key for key in missing if ledger.of(key).frontier is not None}
        if not missing:
            break
    return newest


def every_observation(
    tables: LakeTables, coverage_of: Callable[[str], SourceLedger], places: dict[str, NewestPlaces]
) -> Iterator[tuple[str, Observation]]:
    """Yield all observations of all sources, each with its source id, in any order.

    Args:
        tables: the lake.
        coverage_of: returns the ledger of a source, which completes rows that lack the topic id.
        places: receives, by source, the files and folders that its newest run did not read.
    """
    if not tables.has(OBSERVATIONS):
        return
    for rows in newest_rows(tables, OBSERVATIONS, _NAMES):
        for source_id, found in newest_places(rows).items():
            before = places.setdefault(source_id, found)
            places[source_id] = max(before, found, key=attrgetter("observed_at"))
        sources = rows.column("source_id").unique().to_pylist()
        for source_id in filter(None, sources):
            for observation in _observations(rows, source_id, coverage_of(source_id)):
                yield source_id, observation


def observed_partitions(tables: LakeTables, source_id: str) -> set[PartitionKey]:
    """Return all observed partitions of a source, with the topic ids in their rows."""
    columns = ("source_id", "topic", "partition", "topic_id")
    found: set[PartitionKey] = set()
    for rows in newest_rows(tables, OBSERVATIONS, columns) if tables.has(OBSERVATIONS) else ():
        for source, *key in zip(*(rows.column(n).to_pylist() for n in columns), strict=True):
            if source == source_id and key[1] is not None:
                found.add(PartitionKey(*key))
    return found


def append_observations(
    tables: LakeTables,
    observations: Sequence[Observation],
    places: NewestPlaces,
    *,
    source_id: str,
    run_id: str,
) -> None:
    """Append observations and unread places as one file; there must be at least one row.

    Args:
        tables: the lake.
        observations: new or changed observations.
        places: all unread files and folders: these rows replace those of earlier runs.
        source_id: source of the partitions.
        run_id: id of the run.

    Raises:
        SeglakeError: the append failed or its outcome is unknown; a later run repeats the append.
    """
    rows = [_row(seen, source_id) for seen in observations]
    rows += _place_rows(places, source_id, run_id)
    with ParquetFile(tables.storage, tables.lake_path, OBSERVATIONS, topic="") as output:
        output.write(OBSERVATIONS.to_arrow(rows))
        file = output.close()
    times = [places.observed_at, *(seen.observed_at for seen in observations)]
    if file is not None:
        now_ms = int(max(times).timestamp() * 1000)
        append_file(tables, OBSERVATIONS, file, run_id=run_id, now_ms=now_ms)


def newest_places(rows: pa.Table) -> dict[str, NewestPlaces]:
    """Return each source's unread files and folders in its newest run, from `observations` rows."""
    newest: dict[str, datetime] = {}
    # Any: the columns have many types.
    columns: list[list[Any]] = [rows.column(n).to_pylist() for n in ("source_id", "observed_at")]
    for source_id, time in zip(*columns, strict=True):
        newest[source_id] = max(time, newest.get(source_id, time))
    found = {source_id: NewestPlaces(time) for source_id, time in newest.items()}
    if rows.column("partition").null_count:
        for row in rows.to_pylist():
            of_source = found[row["source_id"]]
            if row["partition"] is None and row["observed_at"] == of_source.observed_at:
                places = (*of_source.places, _place(row))
                found[row["source_id"]] = of_source._replace(places=places)
    return found


def _place(row: Mapping[str, Any]) -> UnreadPlace:
    """Convert a row of `observations` without a partition to an unread place."""
    left = row["not_ingested"] or ()
    ranges = tuple((each["from_offset"], each["log_end_offset"]) for each in left)
    return UnreadPlace(row["listing"], row["detail"], ranges)


def _place_rows(places: NewestPlaces, source_id: str, run_id: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row of `observations` for each unread file or folder."""
    for place in places.places:
        why = _utf8(place.reason)
        left = [LeftRange(why, *offsets)._asdict() for offsets in place.ranges]
        values = {
            "source_id": source_id,
            "stopped_by": str(StoppedBy.UNREAD),
            "detail": why,
            "not_ingested": left or None,
            "listing": _utf8(place.path),
            "run_id": run_id,
            "observed_at": places.observed_at,
        }
        yield tuple(values.get(name) for name in _NAMES)


def _row(observation: Observation, source_id: str) -> tuple[Any, ...]:
    """Convert an observation to a row of `observations`."""
    key = observation.key
    values = {name: getattr(observation, name) for name in _PLAIN} | {
        "source_id": source_id,
        "detail": None if observation.detail is None else _utf8(observation.detail),
        "topic_id": key.topic_id,
        "topic": key.topic,
        "partition": key.partition,
        "stopped_by": str(observation.stopped_by),
        "not_ingested": [left._asdict() for left in observation.not_ingested] or None,
    }
    return tuple(values[name] for name in _NAMES)


def _observations(rows: pa.Table, source_id: str, ledger: SourceLedger) -> Iterable[Observation]:
    """Yield one source's observations from rows, the newest last."""
    # Any: the columns have many types.
    columns: dict[str, list[Any]] = {name: rows.column(name).to_pylist() for name in _NAMES}
    times = columns["observed_at"]
    # sort by time, because several drivers may have written the file
    for index in sorted(range(len(times)), key=times.__getitem__):
        source = columns["source_id"][index]
        if source != source_id or columns["partition"][index] is None:
            continue
        key = PartitionKey(
            columns["topic"][index], columns["partition"][index], columns["topic_id"][index]
        )
        yield Observation(
            key=ledger.joined_key(key),
            stopped_by=StoppedBy(columns["stopped_by"][index]),
            not_ingested=tuple(LeftRange(**left) for left in columns["not_ingested"][index] or ()),
            **{name: columns[name][index] for name in _PLAIN},
        )


def _utf8(text: str) -> str:
    """Return a text in which bytes that are not UTF-8 are escaped."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
