"""Notes on replicas that end below the lake's ranges. Pure."""

from seglake.kafka_log.log_identity import ShorterLog, lagging_notes
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.segment_ingest.replica_conflicts.conflicts import ConflictRows
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.round_look import RoundLook


def shorter_notes(
    look: RoundLook,
    conflicts: ConflictRows,
    won: set[PartitionKey],
    *,
    wants_older: bool,
) -> list[str]:
    """Return notes on logs that end below the ingested ranges and are not refused.

    Lagging or older copies share one note; none if the run reads older copies.

    Args:
        won: logs that won an election against the ingested ones.
        wants_older: the run ingests records from older copies.
    """
    expected = conflicts.expected()
    waiting = {log.key for log in look.listed if log.ledger.superseded}
    refused = {*look.check.refused, *(duplicate.kept.key for duplicate in look.duplicates)}
    notes: list[str] = []
    lagging: list[ShorterLog] = []
    for shorter in look.check.shorter:
        key = shorter.replica.key
        if key in refused:
            continue
        count = expected.get(key, ConflictCount())
        has_won = count.contradicts > 0 or key in won | waiting
        if has_won or count.lost or shorter.has_older_epoch:
            notes.append(shorter.note(has_won=has_won, has_lost=count.lost > 0))
        elif not wants_older:
            lagging.append(shorter)
    return [*notes, *lagging_notes(lagging)]
