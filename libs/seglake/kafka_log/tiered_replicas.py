"""Joins the log in a remote tier to the replicas of its partition.

Local and remote segments are one log: a replica gets the remote segments below its first local
segment. If the tier has newer offsets than all replicas, as with an old copy of a disk, the tier
becomes a replica.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from seglake.kafka_log.internal_topics import REMOTE_LOG_METADATA
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted
from seglake.kafka_log.replica import (
    Checkpoints,
    EndClaim,
    PartitionKey,
    RemoteGap,
    Replica,
    SegmentFile,
)
from seglake.kafka_log.replica_selection import SurveyedReplica, likely
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

_OBJECTS = "the objects of the tier"


@dataclass(frozen=True, slots=True, kw_only=True)
class TierReplica:
    """The log of a partition in a tier.

    Attributes:
        folder: the partition's folder in the tier.
        segments: segments in the tier, by base offset; each is read up to its end or to the start
            of the next one.
        next_offset: exclusive end of the log, readable or not.
        claimed_end: end of the log that events or unreadable objects state; None if they state
            none.
        gaps: offsets that the tier should have and that cannot be read.
        is_confirmed: whether `__remote_log_metadata` describes all segments.
        log_start: log start of the partition; None if nothing states it.
        unproved: ids of the segments that no event states to be uploaded completely.
    """

    key: PartitionKey
    folder: str
    segments: tuple[SegmentFile, ...]
    next_offset: int
    epochs: tuple[EpochStart, ...]
    gaps: tuple[RemoteGap, ...]
    is_confirmed: bool
    claimed_end: int | None = None
    log_start: int | None = None
    unproved: frozenset[str] = frozenset()

    @property
    def stated_by(self) -> str:
        """Return the part of the tier that states the ends of its segments."""
        return REMOTE_LOG_METADATA if self.is_confirmed else _OBJECTS

    @property
    def stated_start(self) -> int | None:
        """Return the tier's log start, or the first offset of all its segments; else None."""
        if self.log_start is not None or not self.is_confirmed:
            return self.log_start
        starts = [each.base_offset for each in self.segments[:1]]
        starts += [each.start_offset for each in self.gaps[:1]]
        return min(starts, default=0)

    def alone(self, log_start: int | None) -> Replica:
        """Return the tier's log as a separate replica.

        Args:
            log_start: the partition's log start; None if nothing states it.
        """
        is_known = log_start is not None
        return Replica(
            key=self.key,
            broker_id=None,
            folder=self.folder,
            is_future=False,
            checkpoints=Checkpoints(log_start_offset=log_start, has_remote_tier=is_known),
            epochs=self.epochs if is_known else (),
            segments=self.segments,
            last_side_file=None
            if self.claimed_end is None
            else EndClaim(self.claimed_end, self.stated_by),
            remote_gaps=self.gaps,
            epochs_stated_by=self.stated_by,
            last_upload=self.segments[-1] if self.segments else None,
        )

    @property
    def undescribed_upload(self) -> SegmentFile | None:
        """Return the last segment if no event describes it; its end must be read once."""
        last = self.segments[-1] if self.segments else None
        remote = None if last is None else last.remote
        return last if remote is not None and remote.segment_id in self.unproved else None


def is_ahead(tier: TierReplica, local: Replica) -> bool:
    """Return whether a tier's log certainly continues after a replica's end."""
    if not local.segments:
        return True
    newest = local.epochs[-1].epoch if local.epochs else -1
    if tier.epochs and tier.epochs[-1].epoch > newest:
        return True
    last = local.segments[-1]
    return bool(tier.segments) and tier.segments[-1].base_offset > last.base_offset


def joined(
    tier: TierReplica,
    replicas: Sequence[Replica],
    find_lost: Callable[[Replica], Sequence[OffsetRange]] = lambda replica: (),
) -> list[Replica]:
    """Return the replicas of a partition with the tier's log.

    Args:
        tier: the log in the tier.
        replicas: replicas of the same partition on brokers' disks; may be none.
        find_lost: returns ranges between a replica's segments that only the tier may have, each
            from the start of a segment of the tier.
    """
    live = [copy for copy in replicas if not copy.is_future]
    leader = likely(live) if live else None
    if not (tier.segments or tier.gaps):  # the events prove nothing but the log start
        return [_from_start(copy, tier.log_start) for copy in replicas]
    if leader is None or is_ahead(tier, leader):
        alone = tier.alone(tier.stated_start)
        if live and tier.segments:  # a tier has only records below the high watermark
            checkpoints = alone.checkpoints._replace(
                has_high_watermarks=True,
                high_watermark=tier.next_offset,
                mark_stated_by=tier.stated_by,
            )
            alone = alone._replace(checkpoints=checkpoints)
        return [*replicas, alone]
    lost = find_lost(leader)
    return [_with_tier(copy, tier, lost) if copy is leader else copy for copy in replicas]


def with_manifests(copy: SurveyedReplica) -> SurveyedReplica:
    """Return a copy whose segments have the manifests that their surveys have read."""
    replica, surveys = copy
    first = len(replica.segments) - len(surveys)
    segments = tuple(
        file._replace(remote=replace(file.remote, manifest=survey.manifest))
        if file.remote is not None and survey.manifest is not None
        else file
        for file, survey in zip(replica.segments[first:], surveys, strict=True)
    )
    return SurveyedReplica(
        replica._replace(segments=(*replica.segments[:first], *segments)), surveys
    )


def without_unreadable(copy: SurveyedReplica) -> SurveyedReplica:
    """Return a copy with unreadable remote segments as gaps, if a retry is useless."""
    replica, surveys = copy
    first = len(replica.segments) - len(surveys)
    pairs = [*zip(replica.segments[first:], surveys, strict=True)]
    kept = [(file, survey) for file, survey in pairs if not survey.is_unreadable]
    if len(kept) == len(pairs):
        return copy
    gaps = [
        RemoteGap(file.base_offset, file.remote.next_offset, str(survey.missing))
        for file, survey in pairs
        if survey.is_unreadable and file.remote is not None
    ]
    segments = (*replica.segments[:first], *(file for file, _ in kept))
    changed = replica._replace(
        segments=segments, remote_gaps=tuple(sorted([*replica.remote_gaps, *gaps]))
    )
    # Without this gap, nothing would show that the log continues.
    if replica.last_side_file is None and gaps:
        end = max(gap.next_offset for gap in gaps)
        changed = changed._replace(last_side_file=EndClaim(end, _OBJECTS))
    return SurveyedReplica(changed, tuple(survey for _, survey in kept))


def _from_start(replica: Replica, log_start: int | None) -> Replica:
    checkpoints = replica.checkpoints._replace(log_start_offset=log_start)
    return replica._replace(checkpoints=checkpoints)


def _with_tier(local: Replica, tier: TierReplica, lost: Sequence[OffsetRange]) -> Replica:
    """Return a replica with the tier's segments added.

    The tier's segments are read below the first local segment, and instead of unreadable segments.
    """
    filled = [*_filled(local, tier), *lost]
    unread = tuple(each for each in local.unread if each.base_offset not in dict(filled))
    readable = [file.base_offset for file in local.segments]
    first = min([*readable, *(segment.base_offset for segment in unread)])
    remote = tuple(
        file
        for file in tier.segments
        if file.base_offset < first or any(u <= file.base_offset < stop for u, stop in filled)
    )
    checkpoints = local.checkpoints._replace(has_remote_tier=True, log_start_offset=tier.log_start)
    mark, replicated = checkpoints.high_watermark or 0, min(first, tier.next_offset)
    if checkpoints.has_high_watermarks and remote and mark < replicated:
        checkpoints = checkpoints._replace(high_watermark=replicated, mark_stated_by=tier.stated_by)
    return local._replace(
        segments=tuple(sorted((*remote, *local.segments), key=_base_offset)),
        unread=unread,
        checkpoints=checkpoints,
        remote_gaps=tuple(
            RemoteGap(*part, gap.reason)
            for gap in tier.gaps
            for within in [(0, first), *lost]
            for part in common([(gap.start_offset, gap.next_offset)], within)
        ),
        last_upload=tier.undescribed_upload,
    )


def _filled(local: Replica, tier: TierReplica) -> list[OffsetRange]:
    """Return the unread local ranges for which the tier has segments.

    A remote segment is read from its start. So it must begin at the start of the local segment,
    unless the tier also has the previous local segment, or no previous one exists.
    """
    has = merged(
        (file.base_offset, file.remote.next_offset)
        for file in tier.segments
        if file.remote is not None
    )
    begins = {file.base_offset for file in tier.segments}
    unread = {segment.base_offset for segment in local.unread}
    bases = sorted({*unread, *(file.base_offset for file in local.segments)})
    filled: list[OffsetRange] = []
    may_begin_below = True
    for base, following in pairwise(bases):
        is_there = base in unread and not subtracted((base, following), has)
        may_begin_below = is_there and (may_begin_below or base in begins)
        if may_begin_below:
            filled.append((base, following))
    return filled


def _base_offset(file: SegmentFile) -> int:
    return file.base_offset
