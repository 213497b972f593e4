"""Reads the state of a lake at one moment: files, ledger, unfinished commits. Driver only.

Memory grows with the ledger and with the number of files, not with records or batches.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from seglake.lake.app_versions import app_id
from seglake.lake.appends import newest_rows
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import read_rows
from seglake.lake.redo_file import read_all
from seglake.lake.table_view import TableView, read_snapshots
from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    GAPS,
    LOG_TABLES,
    OBSERVATIONS,
    QUARANTINE,
    RECORDS,
    SALVAGED_RECORDS,
)
from seglake.pipelines.lake_audit.ledger import (
    LakePartition,
    Row,
    first_topic_ids,
    newest_by_partition,
    rows_by_partition,
    unread_places,
)

_MOST_READINGS = 5
_PAUSE_SECONDS = 0.2

# Tables to which a topic's commit writes, in this order.
_AUDITED = (RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS)
_OBSERVED = (
    *("source_id", "topic_id", "topic", "partition", "log_start_offset", "high_watermark"),
    *("last_stable_offset", "log_end_offset", "next_offset", "run_id", "observed_at"),
    *("stopped_by", "detail", "not_ingested", "listing"),
)

Topic = tuple[str, str]  # source id and topic name


class LakeState(NamedTuple):
    """State of the lake at one moment.

    Attributes:
        snapshots: data files of the audited tables, by table.
        salvaged_files: data files of `salvaged_records`; the rows about their damage are in the
            snapshots.
        rows: the ledger's rows, by partition.
        seen: each partition's newest row of `observations`.
        unread: rows of `observations` about unread folders and files outside of surveyed logs.
        unsettled: notes on topics with a commit that is not in every table yet.
        begun: topics with a recorded commit that is incomplete or was abandoned.
        removing: those of them whose commit removes rows from `records`.
        broken: problems of topics whose tables do not match, for example because one was restored.
    """

    snapshots: Mapping[str, TableView]
    salvaged_files: Sequence[str]
    rows: Mapping[LakePartition, tuple[Row, ...]]
    seen: Mapping[LakePartition, Row]
    unread: tuple[Row, ...]
    unsettled: Mapping[Topic, str]
    broken: Mapping[Topic, str]
    begun: frozenset[Topic]
    removing: frozenset[Topic]


def read_state(tables: LakeTables, pause: Callable[[float], None] = time.sleep) -> LakeState:
    """Read the lake; read it again after a pause as long as a commit is unfinished.

    Args:
        tables: the lake's tables.
        pause: waits for some seconds.

    Raises:
        SeglakeError: there is no lake, or its ledger cannot be read.
    """
    state = _read_once(tables)
    for _ in range(_MOST_READINGS - 1):
        if not state.unsettled:
            break
        pause(_PAUSE_SECONDS)
        state = _read_once(tables)
    return state


def _observations(tables: LakeTables) -> Iterator[Row]:
    """Yield all rows of `observations`; none if the lake is older than this table."""
    if tables.has(OBSERVATIONS):
        for rows in newest_rows(tables, OBSERVATIONS, _OBSERVED):
            yield from rows.to_pylist()


def _read_once(tables: LakeTables) -> LakeState:
    has_salvaged = tables.has(SALVAGED_RECORDS)  # lakes that are older than this table lack it
    salvaged_files = tables.file_paths(SALVAGED_RECORDS) if has_salvaged else []
    snapshots = read_snapshots(tables, _AUDITED)
    ledger: list[Row] = []
    for file in snapshots[CHECKPOINTS.name].files:
        for found in read_rows(tables.storage, file.path, CHECKPOINTS.schema.names):
            ledger += found.to_pylist()
    first_ids = first_topic_ids(ledger)
    by_partition = rows_by_partition(ledger, first_ids)
    # A topic whose first commit is not in the ledger yet may be included.
    redos = read_all(tables.storage, tables.redo_folder_of(LOG_TABLES))
    begun = {(redo.source_id, topic) for redo in redos for topic in redo.generations}
    topics = sorted({(source_id, key.topic) for source_id, key in by_partition} | begun)
    unsettled, broken = {}, {}
    for topic in topics:
        chain = [snapshots[table.name].generation(app_id(*topic)) for table in _AUDITED]
        shown = ", ".join(
            f"{table.name} {generation}" for table, generation in zip(_AUDITED, chain, strict=True)
        )
        if chain != sorted(chain, reverse=True) or chain[0] > chain[-1] + 1:
            broken[topic] = (
                f"{topic[1]}: the tables cannot belong together, their generations are {shown}: "
                "was a table dropped or restored from a copy?"
            )
        elif chain[0] != chain[-1]:
            unsettled[topic] = (
                f"{topic[1]}: a commit has begun and is not in every table yet (generations: "
                f"{shown}). Its rows are not audited. If no run is active, the next ingest "
                "completes it"
            )
    observations = [*_observations(tables)]
    return LakeState(
        snapshots=snapshots,
        salvaged_files=salvaged_files,
        rows={partition: tuple(found) for partition, found in by_partition.items()},
        seen=newest_by_partition(observations, first_ids),
        unread=tuple(unread_places(observations)),
        unsettled=unsettled,
        broken=broken,
        begun=frozenset(begun),
        removing=frozenset(
            (redo.source_id, file.topic or "") for redo in redos for file in redo.removed
        ),
    )
