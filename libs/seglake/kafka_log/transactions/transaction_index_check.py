"""Compares the aborted transactions in the log with the transaction indexes.

In a healthy log both agree. If they differ, the log is right, and the difference is reported.
"""

from collections.abc import Callable, Iterable, Sequence

from seglake.kafka_log.transaction_markers import Marker, OpenTransaction
from seglake.kafka_log.transactions.surveyed_log import WalkedLog
from seglake.kafka_log.transactions.transaction_evidence import DamagedRange
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


def disagreements(
    log: WalkedLog,
    markers: Iterable[Marker],
    ended: Iterable[tuple[OpenTransaction, Marker]],
    damage: Sequence[DamagedRange],
) -> list[str]:
    """Return a text for each difference between log and indexes.

    Segments without a usable index are skipped.

    Args:
        log: the surveyed log.
        markers: its markers, both read and proved.
        ended: transactions whose data was read, with their markers.
        damage: ranges that may have lost markers.
    """
    aborted = {_key(marker): begun for begun, marker in ended if not marker.is_commit}
    read = {_key(marker): marker for marker in markers if marker.is_read}
    known_offset = max(log.walk_offset, log.cleaned_offset)

    def is_hidden(offset: int) -> bool:
        """Return whether an offset is unread, removed by the cleaner, or damaged."""
        return offset < known_offset or any(offset in span.offsets for span in damage)

    found: list[str] = []
    for segment in log.segments:
        if segment.survey.transactions.files.aborted is None:
            continue
        entries = {(entry.producer_id, entry.last_offset): entry for entry in segment.aborted}
        for key, entry in entries.items():
            if segment.start_offset <= entry.last_offset < segment.next_offset:
                reason = _entry_fault(entry, read.get(key), aborted.get(key), is_hidden)
                if reason is not None:
                    found.append(reason)
        # An index copied before its log, or truncated by a crash, lacks its newest entries.
        known = max((entry.last_offset for entry in segment.aborted), default=-1)
        stop = min(segment.next_offset, known) if segment.is_last else segment.next_offset
        found += [
            f"it does not name the abort of producer {producer_id} at offset {offset}"
            for producer_id, offset in aborted
            if segment.start_offset <= offset < stop
            and (producer_id, offset) not in entries
            and (producer_id, offset) in read
            and offset >= log.cleaned_offset
        ]
    return found


def _key(marker: Marker) -> tuple[int, int]:
    """Return producer id and offset of a marker, which identify an abort."""
    return marker.producer_id, marker.offset


def _entry_fault(
    entry: AbortedTransaction,
    marker: Marker | None,
    begun: OpenTransaction | None,
    is_hidden: Callable[[int], bool],
) -> str | None:
    """Return the contradiction between an index entry and the log as text; None if there is none.

    An entry never contradicts hidden offsets.
    """
    name = f"producer {entry.producer_id} at offset {entry.last_offset}"
    if marker is None:
        is_unknown = is_hidden(entry.last_offset)
        return None if is_unknown else f"it names an abort of {name}, but the log has none"
    if marker.is_commit:
        return f"it names an abort of {name}, but the log has a commit"
    if begun is not None and begun.first_offset == entry.first_offset:
        return None
    if is_hidden(entry.first_offset):
        return None
    begin = "no data" if begun is None else f"data from offset {begun.first_offset} on"
    return f"it has the abort of {name} from offset {entry.first_offset}, the log has {begin}"
