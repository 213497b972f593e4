"""Advice for each need, in the words of docs/messages.md, with a command. Pure.

A test holds the advice to that page.
"""

import shlex
from collections.abc import Iterable
from typing import NamedTuple

from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.model import LakeReport, Need
from seglake.pipelines.losing_tails import decode_command
from seglake.pipelines.settings.internal_command import ingest_internal
from seglake.pipelines.settings.raised_limit import replay_with_highest_limit

_MOST_TOPICS = 5


class Advice(NamedTuple):
    """Name of a need, and the advice.

    Attributes:
        quoted: the message of docs/messages.md beside which `to_do` stands.
    """

    title: str
    quoted: str
    to_do: str


ADVICE = {
    Need.MISSING: Advice(
        "Missing without a known cause",
        "missing without a known cause",
        "look for a replica that has them, and give it to `seglake replay --source`",
    ),
    Need.SUPERSEDED: Advice(
        "Rows lost an election, and nothing is in their place",
        "superseded: … lost an election; …",
        "`seglake retake` with the same source",
    ),
    Need.PROBLEM: Advice(
        "The audit cannot explain it",
        "problem of an audit",
        "see what it says; the section Audit of docs/messages.md says what to do",
    ),
    Need.REFUSED: Advice(
        "Refused",
        "refused: …",
        "do what the line says; another log of the same partition belongs into another lake",
    ),
    Need.LEFT_OUT: Advice(
        "Left out",
        "left out: …",
        "run again; look if the same one comes again",
    ),
    Need.NOT_ON_DISK: Advice(
        "Not on disk",
        "not on disk: …",
        "look for the rest: another disk, another replica; `limits.fail_on_short_log`",
    ),
    Need.STUCK: Advice(
        "Stuck: the log grows, its bound stands still",
        "stuck: …",
        "look at the cluster: replicas that are not in sync, a transaction that never ends"
        " (hanging transactions)",
    ),
    Need.TWO_LOGS: Advice(
        "One broker has two logs of it",
        "batches are of a second log of the same broker",
        "find out which is right; take the other into another lake",
    ),
    Need.REPLICAS_DIFFER: Advice(
        "Replicas differ though the same leader wrote them",
        "differs from",
        "compare the two batches",
    ),
    Need.TOO_LARGE: Advice(
        "Batches above limits.max_decompressed_batch_bytes",
        "too large: …",
        "`seglake replay` with the highest limit, in the command here",
    ),
    Need.QUARANTINED: Advice(
        "Damaged bytes hide offsets",
        "quarantined: …",
        "`seglake replay --source` with another replica fills the gaps, if it has them",
    ),
    Need.UNDECIDED: Advice(
        "Transactions that have not ended",
        "of transactions that have not ended",
        "another disk may have their ends; `--set read.undecided_transactions=rows` ingests their"
        " records, marked open",
    ),
    Need.REMOTE: Advice(
        "In the remote tier only",
        "in the remote tier only",
        "see tiered storage",
    ),
    Need.DELETED_OR_LOST: Advice(
        "Deleted by retention, or lost: nothing on the disks tells",
        "below the first segment (deleted by retention, or lost: nothing on the disks tells)",
        "nothing, if the topic had retention or DeleteRecords; else look for a replica or an older"
        " copy that has them",
    ),
    Need.DAMAGED_ABOVE: Advice(
        "Damage above what is ingested",
        "damaged, and quarantined once it is ingested: …",
        "nothing while the cluster runs; for a dead cluster, `seglake ingest` with `--rescue`",
    ),
    Need.NO_HIGH_WATERMARK: Advice(
        "No high watermark",
        "blocked: …",
        "for a dead cluster, `seglake ingest` with `--upper-bound log_end`; a running broker writes"
        " the file every 5 s",
    ),
    Need.OPEN_TRANSACTION: Advice(
        "A transaction is open",
        "… has a transaction open since offset …",
        "nothing; if it never ends, see hanging transactions",
    ),
    Need.LOST_ELECTION: Advice(
        "The replica lost an election to what is ingested",
        "An election has gone against …: nothing more is ingested from it",
        "nothing",
    ),
    Need.LOST_TAIL: Advice(
        "Batches of a replica that lost an election are in quarantine",
        "in quarantine, not in records: …",
        "nothing, or the command here: it decodes those that `salvaged_records` lacks",
    ),
    Need.NEVER_INGESTED: Advice(
        "Never ingested",
        "outside of the chosen times",
        "nothing, if these times were left out; else run `seglake ingest` again without them",
    ),
    Need.WAITING: Advice(
        "Above the high watermark",
        "not ingested yet: …",
        "a later run ingests it; see the next rows",
    ),
    Need.TAIL: Advice(
        "The last segment ends in something that is not a whole batch",
        "the last segment ends in …",
        "nothing; it is ingested when it is complete",
    ),
}


def command_for(need: Need, lake: str, keys: Iterable[PartitionKey]) -> str | None:
    """Return the command that mends some partitions, to be copied; None where there is none."""
    topics = sorted({key.topic for key in keys})
    named = ["--topics", *topics] if len(topics) <= _MOST_TOPICS else []
    if any(is_internal_topic(topic) for topic in topics):
        named.append("--internal-topics")
    match need:
        case Need.MISSING | Need.QUARANTINED:
            words = ("seglake", "replay", "--lake", lake, "--source", "ANOTHER_REPLICA", *named)
        case Need.TOO_LARGE:
            return replay_with_highest_limit(lake)
        case Need.LOST_TAIL:
            return decode_command(lake)
        case Need.SUPERSEDED:
            words = ("seglake", "retake", "--source", "LOG_DIR", "--lake", lake, *named)
        case Need.NO_HIGH_WATERMARK:
            words = ("seglake", "ingest", "--source", "LOG_DIR", "--lake", lake, *named)
            words += ("--upper-bound", "log_end")
        case Need.UNDECIDED:
            words = ("seglake", "ingest", "--source", "LOG_DIR", "--lake", lake, *named)
            words += ("--set", "read.undecided_transactions=rows")
        case _:
            return None
    return shlex.join(words)


def command_for_groups(report: LakeReport) -> str | None:
    """Return the command that ingests the internal topics; None if the lake has them."""
    if not report.lacks_groups:
        return None
    topics = ("__cluster_metadata", "__consumer_offsets")
    return ingest_internal(report.lake, topics, report.upper_bound)
