"""Reads the state of a lake's typed tables at one moment. Driver only."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TypedTableError
from seglake.lake.table_view import read_snapshots
from seglake.lake.typed_tables import TypedTable, commit_tables, typed_tables
from seglake.lake.value_tables import TYPED_CHECKPOINTS, VALUE_REJECTS
from seglake.log_tables.begun_erasures import BegunErasure
from seglake.pipelines.lake_audit.lake_state import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedState:
    """Files and problems of a lake's typed tables at one moment.

    Attributes:
        tables: the typed tables.
        files: data files of all tables of decoded values, by the table's name.
        unsettled: notes on topics with a commit that is not in every table yet.
        problems: problems of the tables as a whole.
        erasing: topics of erasures that have begun and not ended.
    """

    tables: Sequence[TypedTable] = ()
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unsettled: Mapping[Topic, str] = field(default_factory=dict)
    problems: Sequence[str] = ()
    erasing: Collection[str] = ()


def read_typed_state(
    tables: LakeTables, sources: Iterable[str], begun: Iterable[BegunErasure]
) -> TypedState | None:
    """Return the state of the typed tables; None if nothing was ever decoded.

    Args:
        tables: the lake.
        sources: all sources of the lake.
        begun: erasures that have not ended.
    """
    if not tables.has(TYPED_CHECKPOINTS) and not tables.has(VALUE_REJECTS):
        return None
    lost = [t.name for t in (VALUE_REJECTS, TYPED_CHECKPOINTS) if not tables.has(t)]
    if lost:
        return TypedState(problems=[f"the lake has lost the table {lost[0]}"])
    try:
        typed = typed_tables(tables)
    except TypedTableError as error:
        return TypedState(problems=[str(error)])
    snapshots = read_snapshots(tables, commit_tables(typed).tables)
    topics = {each.topic for each in typed}
    decided, published = snapshots[VALUE_REJECTS.name], snapshots[TYPED_CHECKPOINTS.name]
    return TypedState(
        tables=typed,
        files={name: [file.path for file in found.files] for name, found in snapshots.items()},
        unsettled={
            (source, topic): (
                f"{topic}: a commit of decoded values has begun and is not in every table yet. Its"
                " rows are not audited. If no run is active, the next deserialize completes it"
            )
            for source in sources
            for topic in topics
            for app in [app_id(source, topic)]
            if decided.generation(app) != published.generation(app)
        },
        erasing={topic for erasure in begun for topic in erasure.topics},
    )
