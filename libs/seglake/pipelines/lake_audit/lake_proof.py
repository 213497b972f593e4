"""Runs the proof over one state of a lake. Reads data files, with an engine."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.duckdb_sql import literal
from seglake.lake.parquet_rows import HIGHEST, LOWEST, read_rows
from seglake.lake.table_view import TableView
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS, SALVAGED_RECORDS
from seglake.pipelines.lake_audit.lake_audit import SalvagedSums
from seglake.pipelines.lake_audit.lake_state import LakeState
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.pipelines.lake_audit.partition_audit import PartitionFacts
from seglake.pipelines.lake_audit.problems import problem
from seglake.proof.engines import FILES, ProofEngine, ProofFailedError, Row, answered
from seglake.proof.queries import PROVED_TABLES, Purpose, queries
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_SALVAGED = {
    "salvaged_alone": "without a row in quarantine",
    "salvaged_twice": "salvaged more than once",
    "salvaged_outside": "at offsets that neighbouring valid batches have",
}
# Tables with statistics by offset in their files: a row's first and last offset column.
_PLACES: Mapping[str, tuple[str, str]] = {
    RECORDS.name: ("batch_base_offset", "batch_base_offset"),
    BATCHES.name: ("base_offset", "last_offset"),
    QUARANTINE.name: ("position", "position"),
    GAPS.name: ("start_offset", "next_offset"),
}


class ProofAnswers(NamedTuple):
    """Results of the proof's SQL queries.

    Attributes:
        partitions: results of each partition, including partitions that the ledger lacks.
        problems: problems of the lake as a whole, in words.
        salvaged: number of salvaged records and batches whose damage is unrepaired.
    """

    partitions: Mapping[LakePartition, PartitionFacts]
    problems: Sequence[str]
    salvaged: SalvagedSums


def prove(
    engine: ProofEngine, state: LakeState, storage: Storage, *, on_done: Callable[[], None]
) -> ProofAnswers:
    """Run all queries.

    Unreadable files become problems, and the proof uses the other files.

    Args:
        engine: runs the queries.
        state: the files to prove.
        storage: reads single files, to find unreadable files.
        on_done: called after each query.

    Raises:
        ProofFailedError: the engine failed although all files can be read.
    """
    files = {name: [file.path for file in found.files] for name, found in state.snapshots.items()}
    files[SALVAGED_RECORDS.name] = [*state.salvaged_files]
    try:
        answers = answered(engine, queries(), files, on_done)
        return _put_together(answers, [*_hidden_rows(engine, state.snapshots)])
    except ProofFailedError:
        unreadable = dict(_unreadable(storage, files))
        if not unreadable:
            raise
    sound = {
        name: [path for path in paths if path not in unreadable] for name, paths in files.items()
    }
    return _put_together(answered(engine, queries(), sound), [*unreadable.values()])


def _put_together(answers: Mapping[str, Sequence[Row]], problems: list[str]) -> ProofAnswers:
    """Group the rows that the proof's queries returned by partition."""
    facts: dict[int, dict[str, list[Row]]] = {}
    for name, rows in answers.items():
        for row in rows if name != "salvaged" else ():
            facts.setdefault(row["log"], {}).setdefault(name, []).append(row)
    checks = {query.name for query in queries() if query.purpose is Purpose.CHECK}
    partitions = {}
    for log in answers["logs"]:
        key = PartitionKey(log["topic"] or "", log["partition"], log["topic_id"])
        own = facts[log["log"]]
        partition = LakePartition(log["source_id"] or "", key)
        found = [
            of
            for kind in FindingKind
            if kind in own.keys() & checks
            for of in problem(kind, partition, own[kind][0]["total"], _texts(own[kind]))
        ]
        partitions[partition] = PartitionFacts(found, own)
    for name, words in _SALVAGED.items():
        if rows := answers[name]:
            names = ", ".join(sorted({row["said"] for row in rows}))
            problems.append(
                f"salvaged_records has {rows[0]['total']} quarantined batches {words}: {names}"
            )
    (sums,) = answers["salvaged"]
    return ProofAnswers(partitions, problems, SalvagedSums(sums["records"], sums["batches"]))


def _texts(rows: Iterable[Row]) -> list[str]:
    return [row["said"] for row in rows]


def _unreadable(storage: Storage, files: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the files that cannot be read, each with the reason."""
    for table in PROVED_TABLES:
        for path in files[table.name]:
            try:
                for _ in read_rows(storage, path, table.file_schema.names):
                    pass
            except StorageError as error:
                yield path, str(error)


def _hidden_rows(engine: ProofEngine, snapshots: Mapping[str, TableView]) -> Iterator[str]:
    """Yield a problem if files have rows outside of their statistics, which readers would miss."""
    for table, (first, last) in _PLACES.items():
        files = {file.path.rpartition("/")[2]: file for file in snapshots[table].files}
        in_log = [file.row_count for file in files.values()]
        expected = sum(count for count in in_log if count is not None)
        name = FILES.format(table=table)
        found = 0
        for row in engine.rows(_SPANS.format(files=name, first=first, last=last)):
            bounds = files[row["file_path"].rpartition("/")[2]].bounds
            wrong = [
                f"{column} NOT BETWEEN {low} AND {high}"
                for column in ("partition", first, last)
                for low, high in [bounds.get(column, (LOWEST, HIGHEST))]
                if not low <= row[f"low_{column}"] <= row[f"high_{column}"] <= high
            ]
            found += row["row_count"]
            if wrong:
                hidden = _HIDDEN.format(files=name, path=literal(row["file_path"]))
                found -= engine.rows(f"{hidden} AND ({' OR '.join(wrong)})")[0]["row_count"]
        if None not in in_log and expected != found:
            yield (
                f"{table} has {expected} rows by its Delta log, but {found} are within the "
                "statistics of their files: readers that trust the statistics miss rows"
            )


_SPANS = """\
SELECT file_path, count(*) AS row_count,
       coalesce(min(f.partition), 0) AS low_partition,
       coalesce(max(f.partition), 0) AS high_partition,
       coalesce(min({first}), 0) AS low_{first}, coalesce(max({first}), 0) AS high_{first},
       coalesce(min({last}), 0) AS low_{last}, coalesce(max({last}), 0) AS high_{last}
FROM {files} AS f
GROUP BY file_path"""
_HIDDEN = "SELECT count(*) AS row_count FROM {files} WHERE file_path = {path}"
