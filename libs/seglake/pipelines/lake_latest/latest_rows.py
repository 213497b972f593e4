"""Finds the newest record of each key in DuckDB, and the rows of the table that it replaces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.log_growth import LogPlace, added_after
from seglake.lake.parquet_files import folder_value
from seglake.lake.tables import BATCHES, RECORDS, Table
from seglake.pipelines.lake_latest.latest_plan import LatestWork, Log, Span
from seglake.proof.engines import DuckDBProof
from seglake.proof.queries import Purpose, queries

_FILE = "latest.sql"
_OLD, _REPLACED = "latest_old", "latest_replaced"
_IS_NEWER = (
    "places.place > old.offset OR (places.is_whole AND"
    " (places.place <> old.offset OR places.generation <> old.generation))"
)
_WHOLE, _ELECTIONS = "latest_whole", "latest_elections"
# columns of tables that the plan fills, with their types
_WHOLE_COLUMNS = {"known_id": "VARCHAR", "partition": "INT"}
_ELECTION_COLUMNS = {
    **_WHOLE_COLUMNS,
    **dict.fromkeys(("start_offset", "next_offset", "generation"), "BIGINT"),
}


class NewRows(NamedTuple):
    """Numbers of new records, and the partitions to compute completely."""

    records: int
    without_key: int
    whole: frozenset[Log]


class ChangeCounts(NamedTuple):
    """Numbers of rows of the table that are new, replaced, and gone."""

    inserted: int
    updated: int
    removed: int


class LatestRows:
    """Finder of the newest record of each key, for one topic of one cluster, in DuckDB.

    It reads the records, and the table's keys, as streams; what does not fit in DuckDB's memory is
    on the disk. First comes `find`, then `match`, then the rows.
    """

    def __init__(
        self, proof: DuckDBProof, lake: LakeTables, work: LatestWork, places: Mapping[str, LogPlace]
    ) -> None:
        """Store engine, lake, plan, and the versions that earlier runs have read."""
        self._proof = proof
        self._lake = lake
        self._work = work
        self._places = places
        self._whole = work.whole
        self._queries = {query.name: query for query in queries(__package__, _FILE)}

    def find(self) -> NewRows:
        """Find the newest record of each key.

        Raises:
            ProofFailedError: a file is unreadable, or memory or disk space is short.
        """
        work = self._work
        self._table(_ELECTIONS, _ELECTION_COLUMNS, work.elections)
        self._proof.name_files(BATCHES, self._batches())
        for name in ("latest_ends", "latest_settled"):
            self._run(name)
        whole = work.whole
        if not work.is_first:
            whole |= {Log(**row) for row in self._run("latest_unsettled")}
        late = [] if work.is_first else self._run("latest_late")
        spans = [Span(row["partition"], row["first_offset"], None) for row in late]
        spans += [Span(log.partition, 0, None) for log in whole]
        self._table(_WHOLE, _WHOLE_COLUMNS, whole)
        self._proof.name_files(RECORDS, self._files(RECORDS, spans))
        [counts] = self._run("latest_counts")
        self._run("latest_places")
        self._whole = whole
        return NewRows(counts["records"], counts["without_key"], whole)

    def match(self, paths: Sequence[str]) -> tuple[ChangeCounts, set[str]]:
        """Find the rows of the table that change, and return the names of the files to replace.

        Args:
            paths: data files of the table.
        """
        old = [] if self._work.is_first else paths
        self._proof.name_files(self._work.latest.table, old, _OLD)
        for name in ("latest_matches", "latest_due"):
            self._run(name)
        [counts] = self._run("latest_changes")
        files = self._run("latest_replaced_files")
        names = {row["file_path"].rpartition("/")[2] for row in files}
        return ChangeCounts(**counts), names

    def merged(self, paths: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that replace the given files: those that stay, then the new ones."""
        if paths:
            self._proof.name_files(self._work.latest.table, paths, _REPLACED)
            yield from self._proof.reader(self._text("latest_kept"))
        yield from self._proof.reader(self._text("latest_rows"))

    # Any: columns have values of many types.
    def _run(self, name: str) -> list[Mapping[str, Any]]:
        if self._queries[name].purpose is Purpose.DERIVE:
            self._proof.derive(name, self._text(name))
            return []
        return [*self._proof.rows(self._text(name))]

    def _text(self, name: str) -> str:
        work = self._work
        return self._queries[name].sql.format(
            source=literal(work.source_id),
            topic=literal(work.topic),
            first_id="NULL" if work.first_id is None else literal(work.first_id),
            applied=work.applied,
            published=work.published,
            replaces="TRUE" if work.is_rebuilt else f"({_IS_NEWER})",
            unsupported=self._unsupported(),
            columns=", ".join(f"old.{name}" for name in work.latest.table.schema.names),
        )

    def _unsupported(self) -> str:
        """Return which old rows go if no new row replaces them, in SQL."""
        work = self._work
        if work.is_rebuilt:
            return "TRUE"
        logs = [*self._whole, *(Log(None, partition) for partition in sorted(work.unnamed))]
        of_logs = (
            f"old.partition = {log.partition}"
            f" AND old.topic_id IS NOT DISTINCT FROM {_value(log.known_id)}"
            for log in logs
        )
        return f"({' OR '.join(of_logs)})" if logs else "FALSE"

    def _table(
        self, name: str, columns: Mapping[str, str], rows: Iterable[tuple[object, ...]]
    ) -> None:
        """Make a table of DuckDB with these rows."""
        values = [f"({', '.join(map(_value, row))})" for row in rows]
        nothing = f"({', '.join(['NULL'] * len(columns))})"
        typed = ", ".join(
            f"CAST({column} AS {kind}) AS {column}" for column, kind in columns.items()
        )
        listed = f"VALUES {', '.join([*values, nothing])}"
        sql = f"SELECT {typed} FROM ({listed}) AS given ({', '.join(columns)})"
        self._proof.derive(name, f"{sql} WHERE partition IS NOT NULL")

    def _batches(self) -> list[str]:
        """Return the files of `batches` that may decide open transactions.

        Earlier batches matter only if a new batch may end a transaction or is in an open one.
        """
        work = self._work
        if not (work.is_first or work.whole):
            self._proof.name_files(BATCHES, self._files(BATCHES, []))
            self._run("latest_ends")
            if not self._run("latest_new_ends"):
                return []
        return self._lake.file_paths(BATCHES, topic=work.topic)

    def _files(self, table: Table, spans: Iterable[Span]) -> list[str]:
        """Return a table's files with rows that earlier runs have not read, or in the spans."""
        found = self._added(table)
        requested = [*spans]
        if found is None:
            requested += self._work.spans
            found = []
        for pruned in _pruned(table, requested):
            found += self._lake.file_paths(table, topic=self._work.topic, pruned_by=pruned)
        return [*dict.fromkeys(found)]

    def _added(self, table: Table) -> list[str] | None:
        """Return the files added since an earlier run read a table; None if this is unknown."""
        place = self._places.get(table.name)
        if place is None or self._work.is_first:
            return None
        version = self._lake.state(table).version
        paths = added_after(self._lake, table, place, version)
        if paths is None:
            return None
        folder = f"/topic={folder_value(self._work.topic)}/"
        return [path for path in paths if folder in path]


def _pruned(table: Table, spans: Iterable[Span]) -> Iterator[list[tuple[str, str, int]]]:
    """Yield conditions that exclude files without rows in the spans, by kind of span."""
    first, last = ("offset", "offset") if table is RECORDS else ("base_offset", "last_offset")
    every = [*spans]
    for is_open in (False, True):
        chosen = [span for span in every if (span.stop is None) == is_open]
        if chosen:
            partitions = [span.partition for span in chosen]
            stops = [span.stop for span in chosen if span.stop is not None]
            yield [
                ("partition", ">=", min(partitions)),
                ("partition", "<=", max(partitions)),
                (last, ">=", min(span.start for span in chosen)),
                *((first, "<", max(stops)) for _ in stops[:1]),
            ]


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    return literal(value) if isinstance(value, str) else str(value)
