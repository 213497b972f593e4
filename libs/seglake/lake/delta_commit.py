"""Commits a wave to all tables as one: records decide, the rest follow, checkpoints publish last.

Effect, on the driver only; with `delta_tables` the only importer of deltalake.

Delta commits one table at a time. A topic's generation is the version in Delta's `txn` action of
its app, and the deciding commit is a compare-and-set on it: the version is read from the very
handle that commits, and delta-rs refuses the commit when another with the same app came between.
A handle opened afterwards would commit the same version again without complaint.

Data files are never deleted here: after an unknown outcome they may be in a table.
"""

import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from seglake.lake import redo_file
from seglake.lake.app_versions import AppVersions, app_id, versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import (
    CommitUnknownError,
    RedoMissingError,
    TablesDisagreeError,
    WaveError,
)
from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import RECORDS, Table, tables_of
from seglake.lake.waves import TopicWave, check_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["AppVersions", "Outcome", "TopicWave", "app_id", "commit_wave", "recover", "versions"]


class Outcome(NamedTuple):
    """Topics that are in every table, and those whose generation went to someone else."""

    committed: tuple[str, ...]
    lost: tuple[str, ...]


def _no_hook(step: str) -> None:
    """Do nothing after a step."""


def commit_wave(
    tables: LakeTables,
    source_id: str,
    attempt_id: str,
    run_id: str,
    waves: Sequence[TopicWave],
    now_ms: int,
    *,
    after: Callable[[str], None] = _no_hook,
) -> Outcome:
    """Commit the topics of a wave together; on return the committed ones are published.

    A topic is lost when its generation is taken, or the one before it is not complete: recover,
    read the ledger again and plan anew. Its files may be committed under the next generation.

    Args:
        attempt_id: made anew by each attempt; stands in the commits and proves whose they are.
        after: called with the name of each step when it is done: redo, the topics' tables, cleaned.

    Raises:
        WaveError, DataFileError: nothing was committed.
        CommitUnknownError: a commit failed and may yet have happened.
    """
    check_files(tables, waves)
    due = {wave.topic: wave for wave in waves}
    lost: list[str] = []
    while True:
        for topic in _late_topics(tables, source_id, due.values()):
            lost.append(topic)
            del due[topic]
        if not due:
            return Outcome((), tuple(lost))
        redo = Redo(
            source_id=source_id,
            attempt_id=attempt_id,
            commit_id=uuid.uuid4().hex,
            run_id=run_id,
            created_at_ms=now_ms,
            generations={topic: wave.generation for topic, wave in due.items()},
            files=tuple(file for wave in due.values() for file in wave.files),
        )
        redo_file.write(tables.storage, tables.redo_folder, redo)
        after("redo")
        if _decide(tables, redo):
            break
        redo_file.delete(tables.storage, tables.redo_folder, redo)
    _follow(tables, redo, tuple(due), after)
    redo_file.delete(tables.storage, tables.redo_folder, redo)
    after("cleaned")
    return Outcome(committed=tuple(due), lost=tuple(lost))


def recover(
    tables: LakeTables, source_id: str | None, topics: Iterable[str] = ()
) -> tuple[str, ...]:
    """Complete what was decided and not published; return the topics completed, sorted.

    May run at any time, twice, and beside other drivers. Also deletes redo files that no commit
    needs any more.

    Args:
        source_id: None takes every source that has a redo file.
        topics: of `source_id`; these are also checked to be complete afterwards.

    Raises:
        TablesDisagreeError: nothing was touched for that topic.
        RedoMissingError: one of `topics` cannot be completed.
    """
    completed = set(_recover_once(tables, source_id))
    wanted = list(topics) if source_id is not None else []
    stuck: dict[str, int] = {}
    while source_id is not None and wanted:
        found = versions(tables, source_id, wanted)
        wanted = [topic for topic in wanted if not found[topic].is_settled]
        for topic in wanted:
            generation = found[topic].records
            if stuck.get(topic) == generation:
                folder = tables.redo_folder
                raise RedoMissingError(topic=topic, generation=generation, folder=folder)
            stuck[topic] = generation
        if wanted:
            completed.update(_recover_once(tables, source_id))
    return tuple(sorted(completed))


def _late_topics(tables: LakeTables, source_id: str, waves: Iterable[TopicWave]) -> list[str]:
    """Name the topics whose wave is not the next generation after a published one."""
    by_topic = {wave.topic: wave for wave in waves}
    found = versions(tables, source_id, by_topic)
    for topic, wave in by_topic.items():
        if found[topic].records < wave.generation - 1:
            reason = f"generation {wave.generation} is not the next after {found[topic].records}"
            raise WaveError(topic=topic, reason=reason)
    return [
        topic
        for topic, wave in by_topic.items()
        if found[topic] != AppVersions(*[wave.generation - 1] * 3)
    ]


def _decide(tables: LakeTables, redo: Redo) -> bool:
    """Make the commit to records that decides; False when it can never happen.

    A commit that failed may have happened all the same. A newer snapshot in which a topic has
    moved on tells: either the commit is in it, or it can no longer be. While no topic has moved
    the same commit is tried again; at most one of the tries can succeed.
    """
    failure = ""
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(RECORDS)
        moved = [
            topic
            for topic, generation in redo.generations.items()
            if tables.generation(RECORDS, handle, app_id(redo.source_id, topic)) != generation - 1
        ]
        if moved:
            tables.forget_handles()
            return bool(_decided_topics(tables, handle, redo))
        failure = _commit(tables, RECORDS, handle, redo, tuple(redo.generations))
        if not failure:
            return True
    raise CommitUnknownError(table=RECORDS.name, attempt_count=len(pauses_s), reason=failure)


def _follow(
    tables: LakeTables, redo: Redo, topics: Sequence[str], after: Callable[[str], None]
) -> None:
    """Bring the other tables to the decided generations, whoever else does so at the same time."""
    for table in tables_of(topics):
        if table != RECORDS:
            _follow_one(tables, table, redo, [topic for topic in topics if table.serves(topic)])
        after(table.name)


def _follow_one(tables: LakeTables, table: Table, redo: Redo, topics: Sequence[str]) -> None:
    failure = ""
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(table)
        due = []
        for topic in topics:
            found = tables.generation(table, handle, app_id(redo.source_id, topic))
            if found < redo.generations[topic] - 1:
                reason = f"{table.name} is at {found}"
                expected = [redo.generations[topic]] * 3
                raise TablesDisagreeError(topic=topic, versions=expected, reason=reason)
            if found == redo.generations[topic] - 1:
                due.append(topic)
        if not due:
            return
        failure = _commit(tables, table, handle, redo, due)
        if not failure:
            return
    raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)


def _recover_once(tables: LakeTables, source_id: str | None) -> list[str]:
    folder = tables.redo_folder
    redos = [
        redo
        for redo in redo_file.read_all(tables.storage, folder)
        if source_id is None or redo.source_id == source_id
    ]
    completed: list[str] = []
    for redo in redos:
        found = versions(tables, redo.source_id, redo.generations)
        unfinished = {
            topic
            for topic, generation in redo.generations.items()
            if found[topic].checkpoints < generation <= found[topic].records
        }
        if unfinished:
            decided = unfinished & _decided_topics(tables, tables.open(RECORDS), redo)
            _follow(tables, redo, sorted(decided), _no_hook)
            completed += decided
    for redo in redos:
        if _is_needless(versions(tables, redo.source_id, redo.generations), redo):
            redo_file.delete(tables.storage, folder, redo)
    return completed


def _is_needless(found: dict[str, AppVersions], redo: Redo) -> bool:
    """Say whether everything is published, or the commit neither happened nor ever can.

    A commit moves all its topics at once: when some are at its generations and others not, it was
    not this commit that moved them, and its compare-and-set fails for good.
    """
    taken = [found[topic].records >= generation for topic, generation in redo.generations.items()]
    published = [
        found[topic].checkpoints >= generation for topic, generation in redo.generations.items()
    ]
    return all(published) or (any(taken) and not all(taken))


def _decided_topics(tables: LakeTables, handle: "DeltaTable", redo: Redo) -> set[str]:
    """Name the topics whose generation in this snapshot of records is this redo file's.

    Its records files are in the snapshot, or, for a topic without any, its commit is in the
    history. Commit info alone would not do: it goes with old log entries.
    """
    records = [file for file in redo.files if file.table == RECORDS.name]
    present: set[str] = set()
    if records:
        topics = sorted({file.topic for file in records})
        uris = handle.file_uris(file_pruning_predicate=[(RECORDS.partition_by[0], "in", topics)])
        present = {uri.rpartition("/")[2] for uri in uris}
    decided = {file.topic for file in records if file.path.rpartition("/")[2] in present}
    others = set(redo.generations) - {file.topic for file in records}
    if others and redo.commit_id in _commit_ids(tables, handle):
        decided |= others
    return decided


def _commit_ids(tables: LakeTables, handle: "DeltaTable") -> set[str | None]:
    with tables.named("read the history of", RECORDS):
        return {entry.get("commit_id") for entry in handle.history()}


def _commit(
    tables: LakeTables, table: Table, handle: "DeltaTable", redo: Redo, topics: Sequence[str]
) -> str:
    """Add the topics' files of one table; return the failure in words, empty when there is none."""
    wanted = frozenset(topics)
    return add_files(
        tables,
        table,
        handle,
        [file for file in redo.files if file.table == table.name and file.topic in wanted],
        created_at_ms=redo.created_at_ms,
        said={
            "attempt_id": redo.attempt_id,
            "commit_id": redo.commit_id,
            "run_id": redo.run_id,
        },
        generations={app_id(redo.source_id, topic): redo.generations[topic] for topic in topics},
    )


def add_files(
    tables: LakeTables,
    table: Table,
    handle: "DeltaTable",
    files: Iterable[DataFile],
    *,
    created_at_ms: int,
    said: Mapping[str, str],
    generations: Mapping[str, int],
) -> str:
    """Add finished files to a table in one commit, and make its log durable.

    Args:
        said: stands in the commit's info.
        generations: of apps; the commit fails where another with the same app came between.

    Returns:
        The failure in words, empty when there is none; it may yet have happened.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import AddAction, CommitProperties, Transaction

    actions = [
        AddAction(
            path=quote(file.path, safe="/="),
            size=file.size_bytes,
            partition_values=dict.fromkeys(table.partition_by, file.topic),
            modification_time=created_at_ms,
            data_change=True,
            stats=file.statistics_json,
        )
        for file in files
    ]
    apps = [Transaction(app, number, created_at_ms) for app, number in generations.items()]
    properties = CommitProperties(custom_metadata={**said}, app_transactions=apps)
    try:
        handle.create_write_transaction(
            [*actions],
            mode="append",
            schema=table.schema,
            partition_by=list(table.partition_by),
            commit_properties=properties,
        )
    except (DeltaError, OSError, ValueError) as error:
        return f"{type(error).__name__}: {tables.failure('commit to', table, error).reason}"
    _sync_log(tables, table, handle.version())
    return ""


def _sync_log(tables: LakeTables, table: Table, version: int) -> None:
    """Make durable the log entries behind a version: a power cut must not undo an earlier table."""
    for newer in itertools.count(version + 1):
        path = tables.log_entry_path(table, newer)
        if tables.storage.info(path) is None:
            return
        tables.storage.sync([path])
