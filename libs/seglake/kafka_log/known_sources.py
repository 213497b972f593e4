"""Values that a lake knows of its sources before their disks are read."""

from collections.abc import Collection, Iterable, Mapping, Set

from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.settled_logs import SettledLog


class KnownSources:
    """Sources of a lake, which are read only if needed; this class is for a lake that has none."""

    @property
    def sources(self) -> Collection[str]:
        """Return the ids of the sources that have rows in the lake."""
        return ()

    @property
    def joined(self) -> Mapping[str, str]:
        """Return the source id by cluster id, for clusters whose two ids differ."""
        return {}

    @property
    def only(self) -> str | None:
        """Return the lake's only source; None if it has none or several."""
        sources = [*self.sources]
        return sources[0] if len(sources) == 1 else None

    def topic_ids(self, source_id: str) -> Mapping[str, Set[str]]:
        """Return the topic ids of a source that the lake has, by topic."""
        return {}

    def remote_events(self, source_id: str) -> Iterable[bytes | None]:
        """Return the values of `__remote_log_metadata` in the lake, by partition and offset."""
        return ()

    def settled(self, source_id: str) -> Mapping[PartitionKey, SettledLog]:
        """Return what need not be read again of each log in the lake."""
        return {}


NO_SOURCES = KnownSources()
