"""Commands that a person can run to repair findings of a lake."""

import shlex
from collections.abc import Iterable

from seglake.findings.advised_commands import (
    ingest_internal,
    replay_losing_tails,
    replay_with_highest_limit,
)
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.model import LakeReport

_MOST_TOPICS = 5


def command_for(kind: FindingKind, lake: str, keys: Iterable[PartitionKey]) -> str | None:
    """Return the command that repairs a finding of some partitions; None if there is none.

    Args:
        kind: the finding.
        lake: the lake's path or URI as the user typed it.
        keys: the partitions with this finding.
    """
    topics = sorted({key.topic for key in keys})
    named = ["--topics", *topics] if len(topics) <= _MOST_TOPICS else []
    if any(is_internal_topic(topic) for topic in topics):
        named.append("--internal-topics")
    match kind:
        case FindingKind.MISSING | FindingKind.QUARANTINED:
            words = ("seglake", "replay", "--lake", lake, "--source", "ANOTHER_REPLICA", *named)
        case FindingKind.TOO_LARGE:
            return replay_with_highest_limit(lake)
        case FindingKind.LOST_TAIL:
            return replay_losing_tails(lake)
        case FindingKind.SUPERSEDED:
            words = ("seglake", "retake", "--source", "LOG_DIR", "--lake", lake, *named)
        case FindingKind.NO_HIGH_WATERMARK:
            words = ("seglake", "ingest", "--source", "LOG_DIR", "--lake", lake, *named)
            words += ("--upper-bound", "log_end")
        case FindingKind.UNDECIDED:
            words = ("seglake", "ingest", "--source", "LOG_DIR", "--lake", lake, *named)
            words += ("--set", "read.undecided_transactions=rows")
        case _:
            return None
    return shlex.join(words)


def command_for_groups(report: LakeReport) -> str | None:
    """Return the command that ingests internal topics; None if the lake already has them."""
    if not report.lacks_groups:
        return None
    topics = ("__cluster_metadata", "__consumer_offsets")
    return ingest_internal(report.lake, topics, report.upper_bound)


def command_to_decode(report: LakeReport) -> str | None:
    """Return the command that decodes what is not decoded yet, or counts it; None if nothing is."""
    words = ["seglake", "deserialize", "--lake", report.lake]
    if report.typed.waiting:
        return shlex.join(words)
    return shlex.join([*words, "--dry-run"]) if report.may_be_decoded else None
