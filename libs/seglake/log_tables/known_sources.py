"""Sources with rows in a lake, and the cluster ids that are joined with them. Effect."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import set_property
from seglake.lake.tables import CHECKPOINTS

_JOINED = "seglake.source."  # prefix of properties of `checkpoints`, before the cluster id


class LakeSources:
    """Sources of a lake, read on demand; none without a lake."""

    def __init__(self, tables: LakeTables) -> None:
        """Store the tables; they are read on demand."""
        self._tables = tables

    @cached_property
    def sources(self) -> Collection[str]:
        """Return the sources with rows in the lake."""
        return self._tables.source_ids() if self._tables.exists() else []

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """Return the source by cluster id, for ids with another source than the id itself."""
        if not self._tables.exists():
            return {}
        return _joined_in(self._tables.unchecked_state(CHECKPOINTS).settings)

    @property
    def only(self) -> str | None:
        """Return the source, if there is exactly one."""
        found = [*self.sources]
        return found[0] if len(found) == 1 else None


def join_source(
    tables: LakeTables,
    cluster_id: str,
    source_id: str,
    check: Callable[[Mapping[str, str]], None],
) -> None:
    """Record in the lake that a cluster id and a source are one, from now on.

    Args:
        tables: the lake.
        cluster_id: cluster id in meta.properties.
        source_id: source whose rows are the cluster's.
        check: raises if the lake's other joined ids contradict this one.
    """
    set_property(
        tables,
        CHECKPOINTS,
        f"{_JOINED}{cluster_id}",
        source_id,
        purpose="join",
        check=lambda settings: check(_joined_in(settings)),
    )


def _joined_in(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the source of each joined cluster id, from the table's properties."""
    return {
        name.removeprefix(_JOINED): source
        for name, source in settings.items()
        if name.startswith(_JOINED)
    }
