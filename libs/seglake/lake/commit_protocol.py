"""Commits a wave to all tables as one: records decide, the rest follow, checkpoints publish last.

Pure: every decision of a commit and of a recovery, as steps. `delta_commit` takes them on Delta
tables; the tests take them on a simulated lake in any order, with any step failing.

Delta commits one table at a time. A topic's generation is the version in Delta's `txn` action of
its app, and the deciding commit is a compare-and-set on it: the version is read from the very view
that is committed to, and the commit is refused if another with the same app came between. A view
that is opened afterwards would commit the same version again without an error.

Data files are never deleted here: after an unknown outcome they may be in a table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seglake.lake.app_versions import AppVersions, app_id, version_steps
from seglake.lake.commit_port import NOW, CommitPort, Steps, TableView
from seglake.lake.errors import (
    CommitUnknownError,
    DataFileError,
    DecidedFileGoneError,
    RedoMissingError,
    TablesDisagreeError,
    WaveError,
)
from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import CHECKPOINTS, RECORDS, Table, tables_of
from seglake.lake.waves import TopicWave


class Outcome(NamedTuple):
    """Topics that are now in every table, and topics whose generation another driver took."""

    committed: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Identity and time of one attempt to commit.

    Attributes:
        source_id: source of the topics; part of their apps' names.
        attempt_id: id that no other attempt has; it is in the commits and proves whose they are.
        run_id: id of the run, in the commits for people.
        now_ms: time of the commits and of their generations, in ms since 1970.
    """

    source_id: str
    attempt_id: str
    run_id: str
    now_ms: int


def no_hook(step: str) -> None:
    """Do nothing after a step."""


def commit_steps(
    port: CommitPort,
    attempt: Attempt,
    waves: Sequence[TopicWave],
    after: Callable[[str], None] = no_hook,
) -> Steps[Outcome]:
    """Commit the topics of a wave together; see `delta_commit.commit_wave`."""
    due = {wave.topic: wave for wave in waves}
    lost: list[str] = []
    while True:
        late = yield from _late_topics(port, attempt.source_id, due)
        for topic in late:
            lost.append(topic)
            del due[topic]
        if not due:
            return Outcome((), tuple(lost))
        yield NOW
        port.require_own_rows(due)
        # This wave builds on the tables' logs: a power cut must not undo them and keep the wave.
        for table in tables_of(due):
            yield NOW
            port.make_durable(table)
        redo = _redo(attempt, port.new_commit_id(), due)
        yield NOW
        port.write_redo(redo)
        after("redo")
        if (yield from _decide(port, redo)):
            break
        yield NOW
        port.delete_redo(redo)
    after(RECORDS.name)
    yield from _follow(port, redo, tuple(due), after)
    yield NOW
    port.delete_redo(redo)
    after("cleaned")
    return Outcome(committed=tuple(due), lost=tuple(lost))


def recover_steps(
    port: CommitPort,
    source_id: str | None,
    topics: Iterable[str] = (),
    after: Callable[[str], None] = no_hook,
) -> Steps[tuple[str, ...]]:
    """Complete decided commits that are not published; see `delta_commit.recover`."""
    completed = set((yield from _recover_once(port, source_id, after)))
    requested = list(topics) if source_id is not None else []
    stuck: dict[str, int] = {}
    while source_id is not None and requested:
        found = yield from version_steps(port, source_id, requested)
        requested = [topic for topic in requested if not found[topic].is_settled]
        for topic in requested:
            generation = found[topic].records
            if stuck.get(topic) == generation:
                raise RedoMissingError(topic=topic, generation=generation, folder=port.redo_folder)
            stuck[topic] = generation
        if requested:
            completed.update((yield from _recover_once(port, source_id, after)))
    return tuple(sorted(completed))


def _late_topics(
    port: CommitPort, source_id: str, due: Mapping[str, TopicWave]
) -> Steps[list[str]]:
    """Return the topics whose wave is not the next generation after a published one."""
    found = yield from version_steps(port, source_id, due)
    for topic, wave in due.items():
        if found[topic].records < wave.generation - 1:
            seen = f"{RECORDS.name} was at generation {wave.generation - 1}, and is at"
            reason = f"its newest version cannot be seen: {seen} {found[topic].records}"
            raise WaveError(topic=topic, reason=reason)
    return [
        topic
        for topic, wave in due.items()
        if found[topic] != AppVersions(*[wave.generation - 1] * 3)
    ]


def _redo(attempt: Attempt, commit_id: str, due: Mapping[str, TopicWave]) -> Redo:
    """Return the redo file of one try to commit."""
    return Redo(
        source_id=attempt.source_id,
        attempt_id=attempt.attempt_id,
        commit_id=commit_id,
        run_id=attempt.run_id,
        created_at_ms=attempt.now_ms,
        generations={topic: wave.generation for topic, wave in due.items()},
        files=tuple(file for wave in due.values() for file in wave.files),
    )


def _decide(port: CommitPort, redo: Redo) -> Steps[bool]:
    """Make the deciding commit to records; return False if it can never happen.

    A commit that failed may have happened all the same. A newer snapshot in which a topic's
    generation has moved decides: the commit is in it, or it can no longer happen. While no topic
    has moved, the same commit is tried again; at most one of the tries can succeed.
    """
    failure = ""
    tried_from: TableView | None = None
    for pause_s in port.pauses_s:
        yield pause_s
        view = port.opened(RECORDS)
        moves = [
            view.generation(app_id(redo.source_id, topic)) - (generation - 1)
            for topic, generation in redo.generations.items()
        ]
        if any(move > 0 for move in moves):
            if tried_from is None:
                return False
            if not (yield from _decided_topics(port, view, redo, after=tried_from)):
                return False
            yield NOW
            port.make_durable(RECORDS)
            return True
        if any(move < 0 for move in moves):  # this view precedes the wave's plan: no proof
            failure = "its newest version cannot be seen"
            continue
        tried_from = tried_from or view
        yield NOW
        failure = port.commit(RECORDS, view, redo, tuple(redo.generations))
        if not failure:
            return True
    raise CommitUnknownError(table=RECORDS.name, attempt_count=len(port.pauses_s), reason=failure)


def _follow(
    port: CommitPort, redo: Redo, topics: Sequence[str], after: Callable[[str], None]
) -> Steps[None]:
    """Bring the other tables to the decided generations, whoever else does so at the same time."""
    for table in tables_of(topics):
        if table != RECORDS:
            served = [topic for topic in topics if table.serves(topic)]
            yield from _follow_one(port, table, redo, served)
            after(table.name)


def _follow_one(port: CommitPort, table: Table, redo: Redo, topics: Sequence[str]) -> Steps[None]:
    """Bring one table to the decided generations of its topics."""
    failure = ""
    for pause_s in port.pauses_s:
        yield pause_s
        view = port.opened(table)
        due = []
        for topic in topics:
            found = view.generation(app_id(redo.source_id, topic))
            if found < redo.generations[topic] - 1:
                reason = f"{table.name} is at {found}"
                expected = [redo.generations[topic]] * 3
                raise TablesDisagreeError(topic=topic, versions=expected, reason=reason)
            if found == redo.generations[topic] - 1:
                due.append(topic)
        yield NOW
        if not due:
            port.make_durable(table)
            return
        failure = port.commit(table, view, redo, due)
        if not failure:
            return
    raise CommitUnknownError(table=table.name, attempt_count=len(port.pauses_s), reason=failure)


def _recover_once(
    port: CommitPort, source_id: str | None, after: Callable[[str], None]
) -> Steps[list[str]]:
    """Complete the decided commits of all redo files, and delete files no longer needed."""
    yield NOW
    redos = [redo for redo in port.redo_files() if source_id is None or redo.source_id == source_id]
    completed: list[str] = []
    for redo in redos:
        found = yield from version_steps(port, redo.source_id, redo.generations)
        unfinished = {
            topic
            for topic, generation in redo.generations.items()
            if found[topic].checkpoints < generation <= found[topic].records
        }
        if unfinished:
            yield NOW
            view = port.opened(RECORDS)
            decided = yield from _decided_topics(port, view, redo)
            topics = sorted(unfinished & decided)
            if topics:
                after("recovering")
                yield from _complete(port, redo, topics, after)
                completed += topics
    for redo in redos:
        if _is_needless((yield from version_steps(port, redo.source_id, redo.generations)), redo):
            yield NOW
            port.make_durable(CHECKPOINTS)  # another driver may have published, and not synced
            yield NOW
            port.delete_redo(redo)
    return completed


def _complete(
    port: CommitPort, redo: Redo, topics: Sequence[str], after: Callable[[str], None]
) -> Steps[None]:
    """Publish the commit of a driver that is gone or slow; its data files may be gone, too."""
    yield NOW
    port.require_own_rows(topics)
    files = yield from _lacking_files(port, redo, topics)
    yield NOW
    try:
        port.require_files(files)
    except DataFileError as error:
        raise DecidedFileGoneError(path=error.path, topics=topics) from None
    yield NOW
    port.make_durable(RECORDS)
    yield from _follow(port, redo, topics, after)


def _lacking_files(port: CommitPort, redo: Redo, topics: Sequence[str]) -> Steps[list[DataFile]]:
    """Return the files of tables that do not have the generation yet.

    Files of the other tables may have been compacted away since.
    """
    lacking: list[DataFile] = []
    for table in tables_of(topics):
        yield NOW
        view = port.newest(table)
        due = {
            topic
            for topic in topics
            if view.generation(app_id(redo.source_id, topic)) < redo.generations[topic]
        }
        lacking += [file for file in redo.files if file.table == table.name and file.topic in due]
    return lacking


def _is_needless(found: dict[str, AppVersions], redo: Redo) -> bool:
    """Return whether a redo file is needless: its commit is published, or can never happen.

    A commit moves all its topics at once: if only some are at its generations, another commit moved
    them, and this one's compare-and-set fails for good.
    """
    moved = [found[topic].records >= generation for topic, generation in redo.generations.items()]
    published = [
        found[topic].checkpoints >= generation for topic, generation in redo.generations.items()
    ]
    return all(published) or (any(moved) and not all(moved))


def _decided_topics(
    port: CommitPort, view: TableView, redo: Redo, after: TableView | None = None
) -> Steps[set[str]]:
    """Return the topics whose generation in this snapshot of records comes from this redo file.

    Either its records files are in the snapshot, or its commit is in the history after `after`, a
    view that cannot have the commit. Neither check alone would do: commit info goes with old log
    entries, files go with a compaction, and a topic may have no files.
    """
    records = [file for file in redo.files if file.table == RECORDS.name]
    present: set[str] = set()
    if records:
        present = view.file_names(sorted({file.topic for file in records}))
    decided = {file.topic for file in records if file.path.rpartition("/")[2] in present}
    if decided != set(redo.generations):
        yield NOW
        if redo.commit_id in port.commit_ids(RECORDS, after):
            return set(redo.generations)
    return decided
