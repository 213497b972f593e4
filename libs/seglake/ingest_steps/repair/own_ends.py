"""Finds transactions' end markers in copies that have the transactions' data. Reads headers.

If the log cleaner removed offsets after a transaction's data, it may have removed the marker too.
Then a later marker of the same producer seems to end the transaction. But the cleaner keeps a
marker as long as its transaction's data. So a copy with the data also has the marker, unless its
log ends earlier.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from seglake.ingest_steps.planning.partitions import ListedPartition
from seglake.ingest_steps.planning.replica_survey import survey_logs
from seglake.ingest_steps.repair.repair_plan import CandidateReplica
from seglake.ingest_steps.run_context import ScanContext
from seglake.kafka_log.offset_ranges import subtracted
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker, Markers
from seglake.kafka_log.transactions.missing_markers import KnownLog, MissingMarkers
from seglake.kafka_log.transactions.transaction_outcomes import Transactions, transactions_of


def with_own_ends(
    proved: MissingMarkers,
    log: KnownLog,
    candidates: Iterable[CandidateReplica],
    scan: ScanContext,
) -> MissingMarkers:
    """Add end markers that the log cleaner removed and that copies with the data still have.

    Args:
        proved: markers that small files prove.
        log: the markers and holes of the partition.
        candidates: copies with the data.
        scan: reads the headers.
    """
    waiting = {
        data
        for data in log.waiting
        if data not in proved.settled and any(map(log.is_cleaned, log.holes_after(data)))
    }
    held = [(candidate, waiting & _data_of(candidate)) for candidate in candidates]
    kept = {data for candidate, of_copy in held if candidate.copy.is_of_lake for data in of_copy}
    settled = {data for data in kept if _hides_nothing_else(data, log)}
    asked = [
        (candidate, of_copy - settled)
        for candidate, of_copy in held
        if of_copy - settled and not candidate.copy.is_of_lake
    ]
    found = _surveyed([candidate for candidate, _ in asked], log, scan)
    ends: dict[DataSpan, Marker] = {}
    for (_, of_copy), transactions in zip(asked, found, strict=True):
        for data in of_copy:
            end = _end(data, log, transactions)
            if end is not None:
                ends[data] = min(ends.get(data, end), end, key=attrgetter("offset"))
    return proved._replace(
        markers=(*proved.markers, *ends.values()),
        settled=proved.settled | settled | ends.keys(),
    )


def _data_of(candidate: CandidateReplica) -> set[DataSpan]:
    return {
        event for span in candidate.spans for event in span.events if isinstance(event, DataSpan)
    }


def _hides_nothing_else(data: DataSpan, log: KnownLog) -> bool:
    """Return whether each offset missing between data and marker was removed by the cleaner."""
    return not any(subtracted(hole, log.cleaned) for hole in log.holes_after(data))


def _surveyed(
    candidates: Sequence[CandidateReplica], log: KnownLog, scan: ScanContext
) -> list[Transactions | None]:
    """Survey each copy separately; the result for an unreadable copy is None."""
    if not candidates:
        return []
    logs = [ListedPartition.alone(candidate.copy.replica, log.key) for candidate in candidates]
    return [
        None
        if found.unread_reason is not None
        else transactions_of(
            found.replica,
            found.surveys,
            min(candidate.copy.stop_offset, log.covered_offset),
        )
        for candidate, found in zip(candidates, survey_logs(logs, scan), strict=True)
    ]


def _end(data: DataSpan, log: KnownLog, transactions: Transactions | None) -> Marker | None:
    """Return the end marker of a transaction in the copy with its data; None without proof."""
    if transactions is None or any(
        doubt.start_offset <= data.offset < doubt.next_offset
        for doubt in transactions.unknown_outcomes
    ):
        return None
    own = Markers(transactions.markers).next_marker(data.producer_id, data.offset)
    known = log.ends.next_marker(data.producer_id, data.offset)
    if own is None or known is None or own.offset < known.offset:
        return own
    is_same = own.offset == known.offset and own.is_commit == known.is_commit
    return known if is_same else None
