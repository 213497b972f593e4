"""Reads the sources of a lake, and which cluster ids belong to each source."""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import cached_property
from operator import itemgetter

from seglake.errors import WrongCallError
from seglake.kafka_log.internal_topics import REMOTE_LOG_METADATA
from seglake.kafka_log.known_sources import KnownSources
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import merged
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.settled_logs import NOTHING_SETTLED, LastUpload, SettledLog
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import read_rows
from seglake.lake.table_changes import set_property
from seglake.lake.tables import CHECKPOINTS, GAPS, RECORDS
from seglake.log_tables.current_gaps import GAP_COLUMNS, GapPiece, gap_pieces
from seglake.log_tables.ledger_digest import LedgerDigest
from seglake.log_tables.observation_rows import newest_observations
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.near_names import did_you_mean

_JOINED = "seglake.source."  # prefix of a property of `checkpoints`; the cluster id follows

# causes of gaps that no copy fills
_FINAL = frozenset({GapCause.DELETED, GapCause.DELETED_OR_LOST, GapCause.ERASED, GapCause.EXPIRED})
_OF_EVENTS = ("source_id", "partition", "offset", "value")


class LakeSources(KnownSources):
    """Sources of a lake, read on demand; empty if no lake exists."""

    def __init__(self, tables: LakeTables, *, reads_news_only: bool = False) -> None:
        """Store the tables; nothing is read yet.

        Args:
            tables: the lake.
            reads_news_only: whether the caller reads only offsets that the lake lacks.
        """
        self._tables = tables
        self._reads_news_only = reads_news_only

    @cached_property
    def sources(self) -> Collection[str]:
        """Return the sources with rows in the lake."""
        return self._tables.source_ids() if self._tables.exists() else []

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """Return the source id of each cluster whose source id is not the cluster id."""
        if not self._tables.exists():
            return {}
        return _joined_in(self._tables.unchecked_state(CHECKPOINTS).settings)

    def topic_ids(self, source_id: str) -> Mapping[str, Set[str]]:
        """Return the topic ids that the ledger has of a source, by topic."""
        rows = LedgerDigest(self._tables).rows(source_id) if self._tables.exists() else []
        found: dict[str, set[str]] = {}
        for row in rows:
            if row["topic_id"] is not None:
                found.setdefault(row["topic"], set()).add(row["topic_id"])
        return found

    def remote_events(self, source_id: str) -> list[bytes | None]:
        """Return the values of `__remote_log_metadata` in the lake, by partition and offset."""
        if not self._tables.exists():
            return []
        found = {
            (row["partition"], row["offset"]): row["value"]
            for path in self._tables.file_paths(RECORDS, topic=REMOTE_LOG_METADATA)
            for rows in read_rows(self._tables.storage, path, _OF_EVENTS)
            for row in rows.to_pylist()
            if row["source_id"] == source_id
        }
        return [value for _, value in sorted(found.items(), key=itemgetter(0))]

    def settled(self, source_id: str) -> dict[PartitionKey, SettledLog]:
        """Return what the caller need not read of each log that is ingested from offset 0 on."""
        if not (self._reads_news_only and self._tables.exists()):
            return {}
        ledger = SourceLedger(LedgerDigest(self._tables).rows(source_id))
        gaps = gap_pieces(self._tables.rows(GAPS, source_id, GAP_COLUMNS), ledger)
        keys = ledger.partitions()
        seen = newest_observations(self._tables, source_id, keys, ledger).by_key
        return {key: _settled(ledger.of(key), gaps.get(key, ()), seen.get(key)) for key in keys}

    def selected(self, source_id: str | None) -> list[str]:
        """Return the requested source of the lake, or all sources if none is requested.

        A source is requested by its id, or by a cluster id that was joined to it.

        Raises:
            WrongCallError: the lake has no rows of the source.
        """
        if source_id is None:
            return [*self.sources]
        source = self.joined.get(source_id, source_id)
        if source not in self.sources:
            near = did_you_mean(source, self.sources)
            raise WrongCallError(f"the lake has no rows of a cluster {source}{near}")
        return [source]


def _settled(
    ledger: PartitionLedger, gaps: Iterable[GapPiece], seen: Observation | None
) -> SettledLog:
    covered = ledger.covered
    if ledger.superseded or not covered or covered[0][0] > 0:
        return NOTHING_SETTLED
    end = covered[0][1]
    stable = ledger.stable_up_to(end)
    fillable = (
        (int(start), int(stop))
        for piece in gaps
        if piece.cause not in _FINAL
        for start, stop in zip(piece.starts, piece.stops, strict=True)
    )
    return SettledLog(
        covered=end,
        stable=end if stable is None else min(end, stable),
        gaps=tuple(merged(fillable)),
        last=None if seen is None else LastUpload.in_listing(seen.listing),
    )


def join_source(
    tables: LakeTables,
    cluster_id: str,
    source_id: str,
    check: Callable[[Mapping[str, str]], None],
) -> None:
    """Record in the lake that a cluster id belongs to a source.

    Args:
        tables: the lake.
        cluster_id: cluster id in meta.properties.
        source_id: source id of the cluster's rows.
        check: raises an error if the lake has joined the id or the source to another one.
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
    """Return the source id of each joined cluster id, from the table's properties."""
    return {
        name.removeprefix(_JOINED): source
        for name, source in settings.items()
        if name.startswith(_JOINED)
    }
