"""Erases records of small lakes, and searches all files of a lake for bytes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

import pyarrow.parquet as pq

from seglake.pipelines.lake_erase.erase import EraseChoice, erase
from seglake.pipelines.lake_erase.erase_summary import EraseSummary
from seglake.settings.settings import Settings
from seglake.task_engine.engine import Engine, LocalEngine
from support.lakes import local_scan


class Chosen(TypedDict, total=False):
    """The records to erase."""

    key: str
    where: str
    lift: str
    drop_undecodable: bool


def erased(
    lake: Path,
    *,
    topics: Sequence[str] = ("orders",),
    settings: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    engine: Engine | None = None,
    dry_run: bool = False,
    purges: bool = False,
    after: Callable[[str], None] = lambda step: None,
    **chosen: Unpack[Chosen],
) -> EraseSummary:
    """Erase records of the topics, in this process; `settings` differ from the defaults."""
    select = {"topics": [*topics], **settings.get("select", {})}
    key = chosen.get("key")
    choice = EraseChoice(
        key=None if key is None else key.encode(),
        where=chosen.get("where"),
        lift=chosen.get("lift"),
        reason="ticket 7",
        drop_undecodable=chosen.get("drop_undecodable", False),
        purges=purges,
    )
    with LocalEngine(1) as own:
        return erase(
            str(lake),
            local_scan(
                Settings.from_mappings([("test", {**settings, "select": select})]),
                own if engine is None else engine,
                dry_run=dry_run,
                after=after,
            ),
            choice=choice,
        )


def erased_at(lake: Path, topic: str, partition: int, offsets: Iterable[int]) -> EraseSummary:
    """Erase the records of a partition at the offsets, also rows that lost an election."""
    numbers = ", ".join(map(str, offsets))
    where = f'"partition" = {partition} AND "offset" IN ({numbers})'
    return erased(lake, topics=[topic], where=where)


def places_of(lake: Path, needle: bytes) -> list[str]:
    """The files of a lake that have the bytes: in a value of a Parquet file, or as they are."""
    found = []
    for path in sorted(lake.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(lake))
            if needle in path.read_bytes() or any(needle in value for value in _values(path)):
                found.append(name)
    return found


def _values(path: Path) -> Iterator[bytes]:
    """All texts and bytes in a Parquet file; none of others."""
    if path.suffix != ".parquet":
        return
    for column in pq.read_table(path).columns:
        yield from _bytes_in(column)


# Any: columns have many types.
def _bytes_in(column: Any) -> Iterator[bytes]:
    for value in column.to_pylist():
        yield from _flat(value)


def _flat(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, str):
        yield value.encode()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _flat(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
