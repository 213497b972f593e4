"""Finds the segments of a remote tier that a run need not read again.

Uploads never change. So while a listing shows the last upload of an earlier run, its size and end
are known from the earlier run, and no manifest need be read.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.replica import SegmentFile

_COPY_FACTS = 6  # facts of a copy in the text of a listing before those of the last upload


class LastUpload(NamedTuple):
    """The last upload of a log in a tier, as a run saw it.

    Attributes:
        size_bytes: size of the segment; that of its object may be another.
        modified_at_ms: modification time of the object, in ms since 1970.
        stored_bytes: size of the object.
        next_offset: exclusive end of the segment.
        rivals: ids of other uploads that begin within the segment, joined by commas. These
            uploads have the same batches again, or lost an election.
    """

    size_bytes: int
    modified_at_ms: int
    stored_bytes: int
    segment_id: str
    next_offset: int
    rivals: str = ""

    @classmethod
    def of(cls, file: SegmentFile) -> Self | None:
        """Return the facts of a whole segment in a tier; None for any other segment."""
        remote = file.remote
        if remote is None or remote.stored_bytes is None or remote.stop_position is not None:
            return None
        stored, rivals = (file.modified_at_ms, remote.stored_bytes), ",".join(remote.rivals)
        return cls(file.size_bytes, *stored, remote.segment_id, remote.next_offset, rivals)

    @classmethod
    def in_listing(cls, listing: str | None) -> Self | None:
        """Return the upload in the text of `listing_of`; None if it has none."""
        for copy in (listing or "").split():
            facts = copy.split(":")[_COPY_FACTS:]
            if len(facts) == len(cls._fields):
                size, modified_at_ms, stored, segment_id, next_offset, rivals = facts
                numbers = int(size), int(modified_at_ms), int(stored)
                return cls(*numbers, segment_id, int(next_offset), rivals)
        return None

    def is_still(self, file: SegmentFile) -> bool:
        """Return whether a listing shows the same object."""
        remote = file.remote
        return (
            remote is not None
            and remote.segment_id == self.segment_id
            and remote.stored_bytes == self.stored_bytes
            and file.modified_at_ms == self.modified_at_ms
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledLog:
    """Offsets of a log that a run does not read, and what an earlier run has recorded of its end.

    Attributes:
        covered: offset up to which the log is ingested.
        stable: offset up to which, in addition, no transaction was open: below it nothing is read,
            even if the log has grown.
        gaps: gaps that a copy could fill.
        last: the last upload in the tier; None if unknown.
    """

    covered: int = 0
    stable: int = 0
    gaps: tuple[OffsetRange, ...] = ()
    last: LastUpload | None = None

    def ends(self, files: Sequence[SegmentFile], starts: Sequence[int]) -> list[SegmentFile]:
        """Return the listed segments that need not be read, with their ends.

        A segment ends where the next one begins, unless an earlier run has recorded its end. Its
        size is unknown then. So if the segment after it is not settled too, it must be read: it may
        have the lake's last batch, which is compared.

        Args:
            files: segments of one log in a tier.
            starts: start offsets of all uploads of the log, rising, each once.
        """
        found, limit, edges = self._recorded(files), self.stable, [*starts]
        if found and self.last is not None and self.last.next_offset > starts[-1]:
            limit, edges = self.covered, [*starts, self.last.next_offset]
        recorded = {file.path for file in found}
        for file in files:
            at = bisect_right(edges, file.base_offset)
            if file.path in recorded or at + 1 >= len(edges) or edges[at + 1] > limit:
                continue
            if file.remote is not None and not self._has_gap(file.base_offset, edges[at + 1]):
                found.append(file._replace(remote=replace(file.remote, next_offset=edges[at])))
        return found

    def has(self, start_offset: int, next_offset: int) -> bool:
        """Return whether a run reads none of these offsets, even if the log has grown."""
        return next_offset <= self.stable and not self._has_gap(start_offset, next_offset)

    def _recorded(self, files: Sequence[SegmentFile]) -> list[SegmentFile]:
        """Return the last upload with its recorded size and end; empty if it must be read.

        If other uploads begin within it, leader epochs show which one is in the log. Epochs are not
        recorded. So if the listing has other such uploads than the earlier run saw, the last upload
        must be read. If it has the same ones, each is returned with its first offset only, so the
        last upload wins again.
        """
        last = self.last
        if last is None or last.next_offset > self.covered:
            return []
        same = [file for file in files if last.is_still(file)]
        start = min((file.base_offset for file in same), default=last.next_offset)
        within = {
            file.remote.segment_id: file
            for file in files
            if file.remote is not None and start <= file.base_offset < last.next_offset
        }
        rivals = [*filter(None, last.rivals.split(","))]
        is_known = within.keys() == {last.segment_id, *rivals}
        if not same or not is_known or self._has_gap(start, last.next_offset):
            return []
        found = [_begun(within[name]) for name in rivals]
        found += [
            file._replace(
                size_bytes=last.size_bytes,
                remote=replace(file.remote, next_offset=last.next_offset, is_ingested=True),
            )
            for file in same
            if file.remote is not None
        ]
        return found

    def _has_gap(self, start_offset: int, next_offset: int) -> bool:
        return bool(common(self.gaps, (start_offset, next_offset)))


NOTHING_SETTLED = SettledLog()


def _begun(file: SegmentFile) -> SegmentFile:
    """Return a segment up to its first offset."""
    remote = file.remote and replace(file.remote, next_offset=file.base_offset + 1)
    return file._replace(remote=remote)
