"""Chooses which copy of a partition is read, and finds what the other copies share with it. Pure.

Copies are never mixed: each offset comes from the log of one leader, so no record comes twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class OtherReplica:
    """A copy of a partition that is not the one to read.

    Attributes:
        log_end_offset: end of its last sound batch, exclusive.
        divergence_offset: first offset at which its epochs differ from those of the chosen replica
            (KIP-595): its batches from there on lost an election. OPEN_END if one log is just
            longer.
        common_next_offset: exclusive end of the log that both share.
    """

    replica: Replica
    surveys: Surveys
    log_end_offset: int
    divergence_offset: int
    common_next_offset: int


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    """The chosen copy of a partition, and the others."""

    chosen: Replica
    surveys: Surveys
    leader_epochs: LeaderEpochs
    other_replicas: tuple[OtherReplica, ...]
    notes: tuple[str, ...]


def replicas_by_partition(replicas: Iterable[Replica]) -> list[tuple[Replica, ...]]:
    """Return the copies of each partition, sorted by topic and number.

    Each broker writes its checkpoints a few seconds late. So what one checkpoint proves about the
    log that two copies share is used for both.
    """
    by_key = grouped((replica.key, replica) for replica in replicas)
    keys = sorted(by_key, key=lambda key: (key.topic, key.partition, key.topic_id or ""))
    return [tuple(_informed(copy, by_key[key]) for copy in by_key[key]) for key in keys]


def leading(copies: Sequence[Replica]) -> list[Replica]:
    """Return the copies that may be chosen, by their checkpoint files alone."""
    live = [copy for copy in copies if not copy.is_future] or list(copies)
    if len(live) == 1:
        return live
    newest = max(_leader_epochs(copy).last_epoch for copy in live)
    return [copy for copy in live if not copy.epochs or _leader_epochs(copy).last_epoch == newest]


def likely(copies: Sequence[Replica]) -> Replica:
    """Return the copy that would probably be chosen, by names and sizes of files."""
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
    """Return the summary's notes on unused copies."""
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
    """Return the copy to read: of the newest leader epoch, then the longest, then the soundest.

    An unfinished copy to another disk is chosen only if it is the only copy. It is kept as another
    replica only if it is complete.

    Args:
        copies: all copies of one partition with their surveys, at least one.
        is_bounded: the run ingests nothing above the high watermark, so a longer log is no better.
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
        f"{copy.replica.key}: the replica in {copy.replica.folder} is of no use: {reason}"
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
    """Return notes on false epochs in batch headers, which no checksum covers.

    The table `batches` shows these epochs too.
    """
    denied = leader_epochs.denied(fact for survey in copy.surveys for fact in survey.epochs)
    if not denied:
        return []
    epoch, offset = denied[0]
    others = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
    return [
        f"{copy.replica.key}: the batch at offset {offset}{others} says leader epoch {epoch}, the "
        f"log has {leader_epochs.epoch_at(offset)} there; no checksum covers it"
    ]


def sound_end(surveys: Sequence[SegmentSurvey]) -> int:
    """Return the end of the last sound batch; the last segment's base offset without one."""
    filled = [survey.next_offset for survey in surveys if survey.first_offset is not None]
    return max(filled, default=surveys[-1].next_offset if surveys else 0)


def _rank(copy: SurveyedReplica, *, is_bounded: bool) -> tuple[bool, int, bool, int, int, int, str]:
    """Return the sort key of a copy; the lowest is the best."""
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
    """Return the end of the offsets that a run would read, at most the high watermark if bounded.

    Copies of one log share the high watermark.
    """
    end, high_watermark = sound_end(copy.surveys), copy.replica.checkpoints.high_watermark
    return end if high_watermark is None or not is_bounded else min(end, high_watermark)


def _is_complete(copy: SurveyedReplica, useful_end: int) -> bool:
    """Return whether a copy reaches the useful end and all its segments could be surveyed."""
    return sound_end(copy.surveys) >= useful_end and not _unreadable(copy)


def _other(copy: SurveyedReplica, leader_epochs: LeaderEpochs) -> OtherReplica:
    """Return a copy that is not chosen, compared with the chosen copy's epochs."""
    seen = _surveyed_epochs(copy)
    return OtherReplica(
        replica=copy.replica,
        surveys=copy.surveys,
        log_end_offset=sound_end(copy.surveys),
        divergence_offset=leader_epochs.divergence_offset(seen),
        common_next_offset=leader_epochs.common_next_offset(seen),
    )


def _surveyed_epochs(copy: SurveyedReplica) -> LeaderEpochs:
    """Return the leader epochs of a copy, by its checkpoint file and by its batches.

    If damage may hide the end of the log, its end is assumed higher, which keeps the last entries
    of the file.
    """
    end = sound_end(copy.surveys)
    if _unreadable(copy):
        end = OPEN_END
    elif copy.surveys and copy.surveys[-1].is_cut_open:
        end = max(end, copy.replica.durable_offset)
    seen = [fact for survey in copy.surveys for fact in survey.epochs]
    return leader_epochs_of(copy.replica.epochs, end, seen)


def _leader_epochs(copy: Replica) -> LeaderEpochs:
    """Return the leader epochs of a copy by its checkpoint file alone."""
    return leader_epochs_of(copy.epochs)


def _informed(copy: Replica, copies: Sequence[Replica]) -> Replica:
    """Return the copy with the bounds that other copies' checkpoints prove for the shared log."""
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
    return replace(
        copy,
        start_of_copies=start_proved_by(copy, copies),
        checkpoints=replace(
            checkpoints,
            has_high_watermarks=checkpoints.has_high_watermarks or high_watermark is not None,
            high_watermark=high_watermark,
            log_start_offset=max((start for start in starts if start is not None), default=None),
        ),
    )
