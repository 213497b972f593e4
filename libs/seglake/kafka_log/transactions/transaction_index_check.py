"""Compares the aborted transactions of the log with those of the transaction indexes. Pure.

The two say the same where nothing is wrong. The log decides; that they differ is worth a look.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.kafka_log.transactions.surveyed_log import WalkedSegment
from seglake.kafka_log.transactions.transaction_evidence import Damage
from seglake.segment_codec.transaction_index import AbortedTransaction
from seglake.segment_codec.transactions import Marker, OpenTransaction


class LogSide(NamedTuple):
    """What the log says; below `known_offset` it was not read or cleaned, below `cleaned_offset`
    it was cleaned.

    `ended` has the transactions whose data was met, with their markers.
    """

    markers: Sequence[Marker]
    ended: Sequence[tuple[OpenTransaction, Marker]]
    damage: Sequence[Damage]
    known_offset: int
    cleaned_offset: int


def disagreements(log: LogSide, segments: Iterable[WalkedSegment]) -> list[str]:
    """Where log and indexes differ, in words; segments without a usable index say nothing."""
    aborted = {_key(marker): begun for begun, marker in log.ended if not marker.is_commit}
    read = {_key(marker): marker for marker in log.markers if marker.is_read}
    found: list[str] = []
    for segment in segments:
        if segment.survey.transactions.files.aborted is None:
            continue
        entries = {(entry.producer_id, entry.last_offset): entry for entry in segment.aborted}
        for key, entry in entries.items():
            if segment.start_offset <= entry.last_offset < segment.next_offset:
                reason = _entry_fault(entry, read.get(key), aborted.get(key), log)
                if reason is not None:
                    found.append(reason)
        # An index that is copied before its log, or that a crash cut, lacks the newest entries.
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
    return marker.producer_id, marker.offset


def _entry_fault(
    entry: AbortedTransaction, marker: Marker | None, begun: OpenTransaction | None, log: LogSide
) -> str | None:
    """What of an entry the log denies; what the log cannot know, it does not deny."""
    name = f"producer {entry.producer_id} at offset {entry.last_offset}"
    if marker is None:
        is_unknown = _is_hidden(entry.last_offset, log)
        return None if is_unknown else f"it names an abort of {name}, where the log has none"
    if marker.is_commit:
        return f"it names an abort of {name}, where the log has a commit"
    if begun is not None and begun.first_offset == entry.first_offset:
        return None
    if _is_hidden(entry.first_offset, log):
        return None
    begin = "no data" if begun is None else f"data from offset {begun.first_offset} on"
    return f"the abort of {name} is of offset {entry.first_offset} there, the log has {begin}"


def _is_hidden(offset: int, log: LogSide) -> bool:
    """Whether the log cannot tell what was there: not read, cleaned away, or damaged."""
    return offset < log.known_offset or any(offset in span.offsets for span in log.damage)
