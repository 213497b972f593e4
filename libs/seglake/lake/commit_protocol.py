"""Commits a wave (finished files of topics) to all tables of a lake.

This module only decides the steps of commits and recoveries. `delta_commit` runs the steps on
Delta tables; tests run them on a simulated lake, interleaved and with failures.

Delta commits one table at a time. The commit to the first table decides whether the wave is
committed. The other tables follow, and the commit to the last one publishes the rows.
`CommitTables` names these tables. In an ingest, `records` decides and `checkpoints` publishes. A
topic's generation is the version in Delta's `txn` action for the topic's application id, and the
deciding commit is a compare-and-set on this version. For this, the generation must be read from the
table version on which the commit is based: Delta refuses the commit if a later commit has the same
application id. If the base was opened after reading the generation, Delta would commit the same
generation twice without an error.

A commit may also remove rows of the deciding table: it removes files, and adds files with the other
rows. Each attempt first checks that these files are still in the version on which it is based.

This module never deletes data files: if the outcome of a commit is unknown, a table may use them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seglake.lake.app_versions import AppVersions, app_id, version_steps
from seglake.lake.commit_port import NOW, CommitBase, CommitPort, Steps
from seglake.lake.errors import (
    CommitUnknownError,
    DataFileError,
    DecidedFileGoneError,
    RedoMissingError,
    TablesDisagreeError,
    WaveError,
)
from seglake.lake.parquet_files import DataFile, RemovedFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import Table
from seglake.lake.waves import TopicWave

_PAUSES_OF_REMOVALS_S = (0.05,) * 20


class Outcome(NamedTuple):
    """Topics committed to all tables, and topics for which another driver was faster."""

    committed: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Identity and time of an attempt to commit.

    Attributes:
        source_id: source of the topics; part of their application ids.
        attempt_id: unique id of the attempt, which identifies its commits.
        run_id: id of the run, for people who read the commits' info.
        now_ms: time of the commits and of their generations, in ms since 1970.
    """

    source_id: str
    attempt_id: str
    run_id: str
    now_ms: int


def no_hook(step: str) -> None:
    """Do nothing after a step of a commit; tests pass a function that stops the run there."""


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
        gone = yield from _topics_without_files(port, due)
        for topic in dict.fromkeys((*late, *gone)):
            lost.append(topic)
            del due[topic]
        if not due:
            return Outcome((), tuple(lost))
        yield NOW
        port.require_own_rows(due)
        # Otherwise a power cut could undo earlier log entries and keep the entries of this wave.
        for table in port.commits_to.of(due):
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
    after(port.commits_to.deciding.name)
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
    """Complete commits that are decided but not published; see `delta_commit.recover`."""
    completed = set((yield from _recover_once(port, source_id, after)))
    requested = list(topics) if source_id is not None else []
    stuck: dict[str, int] = {}
    while source_id is not None and requested:
        found = yield from version_steps(port, source_id, requested)
        requested = [topic for topic in requested if not found[topic].is_settled]
        for topic in requested:
            generation = found[topic].deciding
            if stuck.get(topic) == generation:
                raise RedoMissingError(topic=topic, generation=generation, folder=port.redo_folder)
            stuck[topic] = generation
        if requested:
            completed.update((yield from _recover_once(port, source_id, after)))
    return tuple(sorted(completed))


def _late_topics(
    port: CommitPort, source_id: str, due: Mapping[str, TopicWave]
) -> Steps[list[str]]:
    """Return the topics whose wave was not planned for the next generation."""
    found = yield from version_steps(port, source_id, due)
    for topic, wave in due.items():
        if found[topic].deciding < wave.generation - 1:
            table = port.commits_to.deciding.name
            seen = f"{table} was at generation {wave.generation - 1}, and is at"
            reason = f"its newest version cannot be seen: {seen} {found[topic].deciding}"
            raise WaveError(topic=topic, reason=reason)
    return [
        topic
        for topic, wave in due.items()
        if found[topic] != AppVersions(*[wave.generation - 1] * 3)
    ]


def _topics_without_files(port: CommitPort, due: Mapping[str, TopicWave]) -> Steps[list[str]]:
    """Return the topics whose files to remove are no longer all in the deciding table."""
    removing = [topic for topic, wave in due.items() if wave.removed]
    if not removing:
        return []
    yield NOW
    view = port.opened(port.commits_to.deciding)
    return [topic for topic in removing if not _has_files(view, due[topic].removed)]


def _has_files(view: CommitBase, removed: Sequence[RemovedFile]) -> bool:
    """Return whether all files to remove are in a version of the deciding table."""
    topics = sorted({file.topic for file in removed if file.topic is not None})
    return not removed or view.file_names(topics).issuperset(file.name for file in removed)


def _redo(attempt: Attempt, commit_id: str, due: Mapping[str, TopicWave]) -> Redo:
    """Return the redo file for one attempt to commit these topics."""
    return Redo(
        source_id=attempt.source_id,
        attempt_id=attempt.attempt_id,
        commit_id=commit_id,
        run_id=attempt.run_id,
        created_at_ms=attempt.now_ms,
        generations={topic: wave.generation for topic, wave in due.items()},
        files=tuple(file for wave in due.values() for file in wave.files),
        removed=tuple(file for wave in due.values() for file in wave.removed),
    )


def _decide(port: CommitPort, redo: Redo) -> Steps[bool]:
    """Commit to the deciding table. Return False if this can never succeed.

    A commit that reports a failure may still have happened. So a newer snapshot is read. If a
    topic's generation has advanced in this snapshot, either the snapshot contains the commit, or
    the commit can no longer happen. If no generation has advanced, the same commit is tried again;
    at most one attempt can succeed.

    A commit that removes files must directly follow the version in which they are. So other commits
    may make it fail several times, and it is tried more often.
    """
    failure, table = "", port.commits_to.deciding
    tried_from: CommitBase | None = None
    pauses_s = (*port.pauses_s, *(_PAUSES_OF_REMOVALS_S if redo.removed else ()))
    for pause_s in pauses_s:
        yield pause_s
        view = port.opened(table)
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
            port.make_durable(table)
            return True
        if any(move < 0 for move in moves):  # a snapshot older than the plan's proves nothing
            failure = "its newest version cannot be seen"
            continue
        if not _has_files(view, redo.removed):
            if tried_from is None:
                return False
            failure = "files to remove are gone"  # unless an earlier attempt has succeeded
            continue
        tried_from = tried_from or view
        yield NOW
        failure = port.commit(table, view, redo, tuple(redo.generations))
        if not failure:
            return True
    raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)


def _follow(
    port: CommitPort, redo: Redo, topics: Sequence[str], after: Callable[[str], None]
) -> Steps[None]:
    """Commit to the other tables until all have the decided generations; other drivers may help."""
    for table in port.commits_to.of(topics):
        if table != port.commits_to.deciding:
            served = [topic for topic in topics if table.serves(topic)]
            yield from _follow_one(port, table, redo, served)
            after(table.name)


def _follow_one(port: CommitPort, table: Table, redo: Redo, topics: Sequence[str]) -> Steps[None]:
    """Commit to one table until it has the decided generations of its topics."""
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
    """Complete the decided commits of all redo files, and delete redo files no longer needed."""
    yield NOW
    redos = [redo for redo in port.redo_files() if source_id is None or redo.source_id == source_id]
    completed: list[str] = []
    for redo in redos:
        found = yield from version_steps(port, redo.source_id, redo.generations)
        unfinished = {
            topic
            for topic, generation in redo.generations.items()
            if found[topic].publishing < generation <= found[topic].deciding
        }
        if unfinished:
            yield NOW
            view = port.opened(port.commits_to.deciding)
            decided = yield from _decided_topics(port, view, redo)
            topics = sorted(unfinished & decided)
            if topics:
                after("recovering")
                yield from _complete(port, redo, topics, after)
                completed += topics
    for redo in redos:
        if _is_needless((yield from version_steps(port, redo.source_id, redo.generations)), redo):
            yield NOW
            # The driver that wrote the log may have died before syncing it.
            port.make_durable(port.commits_to.publishing)
            yield NOW
            port.delete_redo(redo)
    return completed


def _complete(
    port: CommitPort, redo: Redo, topics: Sequence[str], after: Callable[[str], None]
) -> Steps[None]:
    """Complete the commit of a dead or slow driver, if the commit's data files still exist."""
    yield NOW
    port.require_own_rows(topics)
    files = yield from _lacking_files(port, redo, topics)
    yield NOW
    try:
        port.require_files(files)
    except DataFileError as error:
        raise DecidedFileGoneError(path=error.path, topics=topics) from None
    yield NOW
    port.make_durable(port.commits_to.deciding)
    yield from _follow(port, redo, topics, after)


def _lacking_files(port: CommitPort, redo: Redo, topics: Sequence[str]) -> Steps[list[DataFile]]:
    """Return the data files of a redo file that the tables do not have yet.

    Files that were already committed need not exist, because they may have been compacted since.
    """
    lacking: list[DataFile] = []
    for table in port.commits_to.of(topics):
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
    """Return whether a redo file is useless: its commit is published or impossible.

    A commit advances the generations of all its topics at once. If only some topics have advanced,
    another commit did it, and the compare-and-set of this commit can never succeed.
    """
    moved = [found[topic].deciding >= generation for topic, generation in redo.generations.items()]
    published = [
        found[topic].publishing >= generation for topic, generation in redo.generations.items()
    ]
    return all(published) or (any(moved) and not all(moved))


def _decided_topics(
    port: CommitPort, view: CommitBase, redo: Redo, after: CommitBase | None = None
) -> Steps[set[str]]:
    """Return the topics whose generation in the deciding table comes from this redo file.

    This is proved if the redo file's data files are in this version, or if its commit id is in the
    log after the version `after`. Both checks are needed, because log entries expire with their
    commit ids, a compaction replaces files, and a topic may have no files.
    """
    table = port.commits_to.deciding
    files = [file for file in redo.files if file.table == table.name]
    present: set[str] = set()
    if files:
        present = view.file_names(sorted({file.topic for file in files}))
    decided = {file.topic for file in files if file.path.rpartition("/")[2] in present}
    if decided != set(redo.generations):
        yield NOW
        if redo.commit_id in port.commit_ids(table, after):
            return set(redo.generations)
    return decided
