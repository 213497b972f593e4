"""Chooses the copy of a partition to read, and compares the other copies with it.

Copies are never mixed. All offsets come from the log of one leader, so no record is read twice.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.log_starts import start_proved_by
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import SegmentSurvey

Surveys = tuple[SegmentSurvey, ...]


class SurveyedReplica(NamedTuple):
    """A copy of a partition with the surveys of its last segments, in order."""

    replica: Replica
    surveys: Surveys


class OtherReplica(NamedTuple):
    """A copy of a partition that was not chosen for reading.

    Attributes:
        log_end_offset: end of its last valid batch, exclusive.
        divergence_offset: first offset at which this copy and the chosen one have different leader
            epochs (KIP-595): from there, this copy's batches lost an election. OPEN_END if one log
            is only longer.
        common_next_offset: exclusive end of the part that both logs share.
    """

    replica: Replica
    surveys: Surveys
    log_end_offset: int
    divergence_offset: int
    common_next_offset: int


class PartitionChoice(NamedTuple):
    """The copy of a partition to read, and the other copies."""

    chosen: Replica
    surveys: Surveys
    leader_epochs: LeaderEpochs
    other_replicas: tuple[OtherReplica, ...]
    notes: tuple[str, ...]


def replicas_by_partition(replicas: Iterable[Replica]) -> list[tuple[Replica, ...]]:
    """Group copies by partition, sorted by topic and partition number.

    Each broker writes its checkpoints a few seconds late. So a bound proved by one copy's
    checkpoint also applies to other copies that share this part of the log.
    """
    by_key = grouped((replica.key, replica) for replica in replicas)
    keys = sorted(by_key, key=lambda key: (key.topic, key.partition, key.topic_id or ""))
    return [tuple(_informed(copy, by_key[key]) for copy in by_key[key]) for key in keys]


def leading(copies: Sequence[Replica]) -> list[Replica]:
    """Return the copies that may have the newest leader epoch, by their checkpoint files alone."""
    live = [copy for copy in copies if not copy.is_future] or list(copies)
    if len(live) == 1:
        return live
    newest = max(_leader_epochs(copy).last_epoch for copy in live)
    return [copy for copy in live if not copy.epochs or _leader_epochs(copy).last_epoch == newest]


def likely(copies: Sequence[Replica]) -> Replica:
    """Return the copy that would be chosen by the names and sizes of files alone."""
    return max(
        leading(copies),
        key=lambda copy: (
            copy.segments[-1].base_offset if copy.segments else -1,
            copy.segments[-1].size_bytes if copy.segments else -1,
        ),
    )


def notes_of(
    partitions: Iterable[Sequence[Replica]], choices: Iterable[PartitionChoice]
) -> list[str]:
    """Return notes for the summary about unused copies."""
    unfinished = sum(
        copy.is_future
        for copies in partitions
        for copy in copies
        if not all(replica.is_future for replica in copies)
    )
    notes = [note for choice in choices for note in choice.notes]
    if unfinished:
        notes.append(f"{unfinished} unfinished copies to other disks (-future) are not read")
    return notes


def choose(copies: Sequence[SurveyedReplica], *, is_bounded: bool) -> PartitionChoice:
    """Choose the copy with the newest leader epoch; among equals the longest, least damaged one.

    An unfinished copy to another disk (`-future`) is chosen only if it is the only copy. Otherwise
    it is used for comparisons only if it is complete.

    Args:
        copies: all copies of one partition with their surveys, at least one.
        is_bounded: whether the run stops at the high watermark, so that offsets above it do not
            make a copy better.
    """
    best, *rest = sorted(copies, key=lambda copy: _rank(copy, is_bounded=is_bounded))
    useful_end = _useful_end(best, is_bounded=is_bounded)
    leader_epochs = _surveyed_epochs(best)
    other_replicas = tuple(
        _other(copy, leader_epochs)
        for copy in rest
        if not copy.replica.is_future or _is_complete(copy, useful_end)
    )
    notes = [
        f"{copy.replica.key}: the replica in {copy.replica.folder} cannot be used: {reason}"
        for copy in rest
        for reason in _unreadable(copy)[:1]
    ]
    notes += _denied_epochs(best, leader_epochs)
    return PartitionChoice(
        chosen=best.replica,
        surveys=best.surveys,
        leader_epochs=leader_epochs,
        other_replicas=other_replicas,
        notes=tuple(notes),
    )


def _denied_epochs(copy: SurveyedReplica, leader_epochs: LeaderEpochs) -> list[str]:
    """Return a note if batch headers state leader epochs that contradict those of the log.

    No checksum covers these epochs. The table `batches` has the headers' epochs.
    """
    denied = leader_epochs.denied(fact for survey in copy.surveys for fact in survey.epochs)
    if not denied:
        return []
    epoch, offset = denied[0]
    others = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
    return [
        f"{copy.replica.key}: the batch at offset {offset}{others} has leader epoch {epoch}, "
        f"the log has {leader_epochs.epoch_at(offset)} there; no checksum covers leader epochs"
    ]


def sound_end(surveys: Sequence[SegmentSurvey]) -> int:
    """Return the exclusive end of the last valid batch.

    If there is none, return the base offset of the last segment.
    """
    filled = [survey.next_offset for survey in surveys if survey.first_offset is not None]
    return max(filled, default=surveys[-1].next_offset if surveys else 0)


def _rank(copy: SurveyedReplica, *, is_bounded: bool) -> tuple[bool, int, bool, int, int, int, str]:
    """Return the sort key of a copy; the lowest key is the best."""
    return (
        copy.replica.is_future,
        -_surveyed_epochs(copy).last_epoch,
        bool(_unreadable(copy)),
        -_useful_end(copy, is_bounded=is_bounded),
        sum(max(len(survey.transactions.damage), not survey.is_plain) for survey in copy.surveys),
        -sound_end(copy.surveys),
        copy.replica.folder,
    )


def _unreadable(copy: SurveyedReplica) -> list[str]:
    """Return the reasons why segments of a copy could not be surveyed."""
    return [survey.missing for survey in copy.surveys if survey.missing is not None]


def _useful_end(copy: SurveyedReplica, *, is_bounded: bool) -> int:
    """Return the exclusive end of a copy; if `is_bounded`, at most the high watermark.

    Offsets above the high watermark are not used, and all copies of one log have the same high
    watermark.
    """
    end, high_watermark = sound_end(copy.surveys), copy.replica.checkpoints.high_watermark
    return end if high_watermark is None or not is_bounded else min(end, high_watermark)


def _is_complete(copy: SurveyedReplica, useful_end: int) -> bool:
    """Return whether a copy reaches `useful_end` and all its segments could be surveyed."""
    return sound_end(copy.surveys) >= useful_end and not _unreadable(copy)


def _other(copy: SurveyedReplica, leader_epochs: LeaderEpochs) -> OtherReplica:
    """Describe a copy that was not chosen, by its leader epochs and those of the chosen copy."""
    seen = _surveyed_epochs(copy)
    return OtherReplica(
        replica=copy.replica,
        surveys=copy.surveys,
        log_end_offset=sound_end(copy.surveys),
        divergence_offset=leader_epochs.divergence_offset(seen),
        common_next_offset=leader_epochs.common_next_offset(seen),
    )


def _surveyed_epochs(copy: SurveyedReplica) -> LeaderEpochs:
    """Return a copy's leader epochs, from its checkpoint file and its batches.

    If damage may hide the end of the log, a higher end is assumed, so that the file's last entries
    are not ignored.
    """
    end = sound_end(copy.surveys)
    if _unreadable(copy):
        end = OPEN_END
    elif copy.surveys and copy.surveys[-1].is_cut_open:
        end = max(end, copy.replica.durable_offset)
    seen = [fact for survey in copy.surveys for fact in survey.epochs]
    return leader_epochs_of(copy.replica.epochs, end, seen)


def _leader_epochs(copy: Replica) -> LeaderEpochs:
    """Return a copy's leader epochs as its leader-epoch-checkpoint states them."""
    return leader_epochs_of(copy.epochs)


def _informed(copy: Replica, copies: Sequence[Replica]) -> Replica:
    """Return the copy with the highest log start and high watermark in any replica's checkpoints.

    Another replica's values apply only up to where the two logs diverge.
    """
    checkpoints = copy.checkpoints
    marks = [checkpoints.high_watermark]
    starts = [checkpoints.log_start_offset]
    for other in copies:
        stated = other.checkpoints
        if other is copy or other.is_future or stated.high_watermark is None:
            continue
        divergence = _leader_epochs(copy).divergence_offset(_leader_epochs(other))
        proved = min(stated.high_watermark, divergence)
        marks.append(proved)
        if stated.log_start_offset is not None and stated.log_start_offset <= proved:
            starts.append(stated.log_start_offset)
    high_watermark = max((mark for mark in marks if mark is not None), default=None)
    return copy._replace(
        start_of_copies=start_proved_by(copy, copies),
        checkpoints=checkpoints._replace(
            has_high_watermarks=checkpoints.has_high_watermarks or high_watermark is not None,
            high_watermark=high_watermark,
            log_start_offset=max((start for start in starts if start is not None), default=None),
        ),
    )
