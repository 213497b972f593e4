"""Runs the proof over made-up rows, without a lake."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from seglake.pipelines.lake_report.run import own_queries
from seglake.proof.queries import PROVED_TABLES, Purpose, queries

# Any: columns have values of many types.
Row = dict[str, Any]
_LOG: Row = {"source_id": "c", "topic_id": None, "topic": "orders", "partition": 0}
_DEFAULTS: Mapping[str, Row] = {
    "records": {"generation": 1, "timestamp_ms": 7, "key": b"k", "value": b"vv"},
    "batches": {"generation": 1, "state": "decoded", "row_count": 0, "size_bytes": 0},
    "gaps": {"attempt_id": "attempt 1", "cause": "deleted"},
    "quarantine": {
        "broker_id": 0,
        "segment": "orders-0/0.log",
        "position": 0,
        "raw_sha256": "x",
        "length_bytes": 7,
        "defect_code": "crc_mismatch",
        "generation": 1,
    },
    "checkpoints": {"kind": "ingest", "generation": 1},
}


class Proved:
    """Answers of the proof over some rows.

    Args:
        published: the newest generation of the topic that is complete.
        rows: of each table, by its name; columns that are left out have plain values. An attempt
            of the ledger is called after its generation.
    """

    def __init__(self, *, published: int = 9, **rows: Sequence[Row]) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")
        for table in PROVED_TABLES:
            found = [_with_defaults(table.name, row) for row in rows.get(table.name, ())]
            self._connection.register(table.name, pa.Table.from_pylist(found, table.schema))
        for query in queries():
            if query.purpose is Purpose.DERIVE:
                self._connection.execute(f"CREATE TEMPORARY TABLE {query.name} AS {query.sql}")
        self._connection.execute(
            "CREATE TEMPORARY TABLE published_generations AS"
            f" SELECT 'c' AS source_id, 'orders' AS topic, {published} AS newest"
        )

    def problems(self) -> dict[str, list[str]]:
        """Return what each check finds wrong, in the order of places."""
        found = {
            query.name: [row["said"] for row in self._sorted(query.sql)]
            for query in queries()
            if query.purpose is Purpose.CHECK
        }
        return {name: said for name, said in found.items() if said}

    def by_partition(self, check: str) -> dict[int, list[Row]]:
        """Return what one check finds wrong in each partition."""
        names = {row["log"]: row["partition"] for row in self.fact("logs")}
        result: dict[int, list[Row]] = {}
        for row in self._sorted(_sql_of(check)):
            result.setdefault(names[row["log"]], []).append(row)
        return result

    def fact(self, name: str) -> list[Row]:
        """Return the rows of a fact, of the proof or of the report."""
        return self._connection.execute(_sql_of(name)).to_arrow_table().to_pylist()

    def derived(self, name: str) -> list[Row]:
        """Return the rows of a derived table."""
        return self._connection.execute(f"FROM proof_{name}").to_arrow_table().to_pylist()

    def _sorted(self, sql: str) -> list[Row]:
        text = f"FROM ({sql}) ORDER BY log, place, said"
        return self._connection.execute(text).to_arrow_table().to_pylist()


def _sql_of(name: str) -> str:
    known = [*queries(), *own_queries()]
    return next(query.sql for query in known if query.name == name)


def _with_defaults(table: str, row: Row) -> Row:
    defaults = _DEFAULTS.get(table, {})
    made = {**_LOG, **defaults, **row}
    if table == "checkpoints":
        made.setdefault("attempt_id", f"attempt {made['generation']}")
    return made


def ledger(*ranges: tuple[int, int, str, int], partition: int = 0) -> Iterator[Row]:
    """Yield rows of the ledger: start, next offset, kind and generation of each."""
    for start, stop, kind, generation in ranges:
        yield {
            "start_offset": start,
            "next_offset": stop,
            "kind": kind,
            "generation": generation,
            "partition": partition,
        }


def batch(first: int, last: int, rows: int = 0, state: str = "aborted", **more: Any) -> Row:
    """Return a row of `batches`; one without records by default."""
    return {"base_offset": first, "last_offset": last, "row_count": rows, "state": state, **more}
