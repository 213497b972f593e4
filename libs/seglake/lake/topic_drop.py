"""Drops all decoded values of a topic, so that they are decoded anew. Runs on the driver only.

1. A file names the topic and the generation that each of its clusters gets.
2. A commit to `value_rejects` removes the topic's rows and advances these generations, by
   compare-and-set. It decides: a run that decodes the topic meanwhile commits nothing.
3. Each typed table of the topic loses its rows and its columns; then `typed_columns` its rows.
4. A commit to `typed_checkpoints` removes the topic's rows, and publishes: from then on, nothing of
   the topic is decoded.
5. The file is deleted.

Each step is skipped if it is done. So a driver that dies leaves a file with which the next run
completes the drop. Readers see an empty topic until it is decoded.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

import pyarrow as pa

from seglake.lake.app_versions import MAINTAIN_APP, app_id
from seglake.lake.commit_protocol import no_hook
from seglake.lake.commit_tries import CommitTries
from seglake.lake.delta_tables import OWN_FOLDER, LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.lake_folder import entries_of
from seglake.lake.table_changes import allow_removals, set_property
from seglake.lake.table_commit import Removal, add_files, commit_ids, empty_table
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import Table
from seglake.lake.typed_tables import FORMS, PLACE_FIELDS, TypedTable, typed_tables
from seglake.lake.value_tables import TYPED_CHECKPOINTS, TYPED_COLUMNS, VALUE_REJECTS

_PAUSES_S = (0.05,) * 20  # a removal must directly follow the version that has the files


@dataclass(frozen=True, slots=True)
class TopicDrop:
    """A drop of a topic's decoded values.

    Attributes:
        drop_id: id of the drop, which its commits have.
        generations: the generation that the drop gives to the topic, by cluster.
    """

    drop_id: str
    run_id: str
    topic: str
    generations: Mapping[str, int]

    @property
    def apps(self) -> dict[str, int]:
        """Return the generation that the drop gives to each application id."""
        return {app_id(source, self.topic): n for source, n in self.generations.items()}

    def is_done_in(self, view: TableView) -> bool:
        """Return whether a version of a table has the generations of the drop."""
        return all(view.generation(app) >= n for app, n in self.apps.items())


def drop_topic(
    tables: LakeTables,
    topic: str,
    sources: Iterable[str],
    *,
    run_id: str,
    after: Callable[[str], None] = no_hook,
) -> bool:
    """Drop all decoded values of a topic; return False if another run was faster.

    Args:
        tables: the lake, in which no commit of the topic is unfinished.
        topic: the topic.
        sources: all clusters of the lake.
        run_id: label of the run.
        after: called with the name of each finished step, for tests that stop there.

    Raises:
        CommitUnknownError: a commit failed, but may have happened.
    """
    published = tables.state(TYPED_CHECKPOINTS)
    generations = {each: published.generation(app_id(each, topic)) + 1 for each in sources}
    drop = TopicDrop(uuid.uuid4().hex, run_id, topic, generations)
    content = json.dumps(asdict(drop)).encode()
    tables.storage.write_bytes(_path(tables, drop), content)
    after("drop")
    return _run(tables, drop, after)


def complete_drops(
    tables: LakeTables, after: Callable[[str], None] = no_hook, *, only_decided: bool = False
) -> list[str]:
    """Complete the drops that dead runs began; return their topics.

    Args:
        tables: the lake.
        after: called with the name of each finished step, for tests that stop there.
        only_decided: leave drops whose topic still has all rows, which nobody would decode anew.
    """
    found = []
    for entry in entries_of(tables.storage, _folder(tables)):
        drop = TopicDrop(**json.loads(tables.storage.read_bytes(entry.path)))
        if only_decided and not _is_decided(tables, drop):
            continue
        if _run(tables, drop, after):
            found.append(drop.topic)
    return found


def _folder(tables: LakeTables) -> str:
    return tables.storage.join(tables.path(VALUE_REJECTS), OWN_FOLDER, "drops")


def _path(tables: LakeTables, drop: TopicDrop) -> str:
    return tables.storage.join(_folder(tables), f"{drop.drop_id}.json")


def _run(tables: LakeTables, drop: TopicDrop, after: Callable[[str], None]) -> bool:
    """Take the remaining steps of a drop; return False if another run was faster."""
    typed = [each for each in typed_tables(tables) if each.topic == drop.topic]
    names = (VALUE_REJECTS, *(each.table for each in typed), TYPED_CHECKPOINTS)
    refuse_foreign_changes(tables, names)
    is_decided = _decided(tables, drop)
    if is_decided:
        after(VALUE_REJECTS.name)
        for each in typed:
            _empty(tables, drop, each)
            after(each.table.name)
        _remove(tables, drop, TYPED_COLUMNS)
        _remove(tables, drop, TYPED_CHECKPOINTS)
        after(TYPED_CHECKPOINTS.name)
    tables.storage.delete(_path(tables, drop))
    return is_decided


def _is_decided(tables: LakeTables, drop: TopicDrop) -> bool:
    return drop.drop_id in commit_ids(view_of(tables, VALUE_REJECTS), None)


def _decided(tables: LakeTables, drop: TopicDrop) -> bool:
    """Take the deciding step if necessary; return whether the drop is decided."""
    tries = _tries(tables, lambda: VALUE_REJECTS)
    for view in tries:
        if any(view.generation(app) >= n for app, n in drop.apps.items()):
            return drop.drop_id in commit_ids(view, None)
        tries.failure = _commit_removal(drop, view)
    return True


def _remove(tables: LakeTables, drop: TopicDrop, table: Table) -> None:
    """Remove the topic's rows from a table partitioned by topic, unless they are gone."""
    tries = _tries(tables, lambda: table)
    for view in tries:
        if drop.is_done_in(view):
            view.make_durable()
            return
        tries.failure = _commit_removal(drop, view)


def _empty(tables: LakeTables, drop: TopicDrop, typed: TypedTable) -> None:
    """Remove rows, columns of values and forms of a typed table."""
    name = typed.table.name

    def as_it_is() -> Table:
        return next(each.table for each in typed_tables(tables) if each.table.name == name)

    tries = _tries(tables, as_it_is)
    for view in tries:
        if drop.is_done_in(view):
            break
        tries.failure = _commit_overwrite(drop, view)
    tables.forget_handles()
    empty = as_it_is()
    if len(empty.schema) > len(PLACE_FIELDS):  # another driver has completed the drop
        return
    for form in FORMS:
        set_property(tables, empty, form, "", purpose="drop", check=lambda settings: None)


def _tries(tables: LakeTables, table: Callable[[], Table]) -> CommitTries:
    """Return the attempts at a commit that removes rows from a table."""
    allow_removals(tables, table())
    pauses_s = (*tables.storage.pauses_s(tables.lake_path), *_PAUSES_S)
    return CommitTries(tables, table, pauses_s)


def _files(drop: TopicDrop, view: TableView) -> list[Removal]:
    """Return the topic's files in a version of a table, as removals."""
    return [
        Removal(file.removed, loses_rows=True)
        for file in view.files
        if file.topic in (drop.topic, None)
    ]


def _commit_removal(drop: TopicDrop, view: TableView) -> str:
    """Commit the removal of the topic's files; return the failure, or ""."""
    return add_files(
        view,
        [],
        commit_info={"run_id": drop.run_id, "commit_id": drop.drop_id},
        generations=drop.apps | view.advanced(MAINTAIN_APP),
        removals=_files(drop, view),
    )


def _commit_overwrite(drop: TopicDrop, view: TableView) -> str:
    """Commit a typed table without rows and columns of values; return the failure, or ""."""
    return empty_table(
        view,
        pa.schema(PLACE_FIELDS),
        commit_info={"run_id": drop.run_id, "commit_id": drop.drop_id},
        generations=drop.apps | view.advanced(MAINTAIN_APP),
    )
