"""Catalogue of findings: one row for each kind, the most urgent first. Pure.

Summaries, `--json`, exit codes, events, metrics and the report use it. docs/messages.md explains
each row in the same order.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Self


class Look(Enum):
    """Need for a person to look: YES ends the run with exit code 3, NO does not."""

    YES = "yes"
    BY_LIMIT = "by a limit"  # one of the settings `limits.fail_on_*` decides
    NO = "no"


_YES, _LIMIT, _NO = Look


class FindingKind(StrEnum):
    """Kind of a finding; members are defined as (name, look, words, label).

    Attributes:
        look: need for a person to look.
        words: description, as a heading or before examples.
        label: start of the summary's lines, by default the name; empty if the summary has the
            finding in another line.
    """

    look: Look
    words: str
    label: str

    def __new__(cls, name: str, look: Look, words: str, label: str | None = None) -> Self:
        """Make a member from the parts of its row."""
        kind = str.__new__(cls, name)
        kind._value_, kind.look, kind.words = name, look, words
        kind.label = name.replace("_", " ") if label is None else label
        return kind

    @property
    def needs_a_look(self) -> bool:
        """Return whether a single finding of this kind ends a run with exit code 3."""
        return self.look is Look.YES

    @property
    def to_do(self) -> str:
        """Return the advice, as in docs/messages.md."""
        return _TO_DO.get(self, _BROKEN if self.needs_a_look else "nothing")

    NO_HIGH_WATERMARK = "no_high_watermark", _YES, "No high watermark", "blocked"
    STUCK = "stuck", _YES, "Stuck: the log grows, its bound stands still"
    MISSING = "missing", _YES, "Missing without a known cause", ""
    SUPERSEDED = "superseded", _YES, "Rows lost an election, and nothing is in their place"
    NOTHING_INGESTED = "nothing_ingested", _YES, "Nothing was ingested", ""
    PROBLEM = "problem", _YES, "The audit cannot explain it"
    OFFSET_TWICE = "offset_twice", _YES, "Offsets more than once in records", ""
    OVERLAP = "overlap", _YES, "Batches and gaps that overlap", ""
    NOT_ACCOUNTED = "not_accounted", _YES, "Covered offsets with neither a batch nor a gap", ""
    ROW_COUNT = "row_count", _YES, "Batches without the rows in records that they count", ""
    ROW_WITHOUT_BATCH = "row_without_batch", _YES, "Rows in records without their batch", ""
    ROW_OUTSIDE_BATCH = "row_outside_batch", _YES, "Rows in records outside of their batch", ""
    EQUATION = "equation", _YES, "Ranges that do not add up", ""
    LEDGER_SUMS = "ledger_sums", _YES, "Sums of the ledger that are not those of the tables", ""
    BYTES = "bytes", _YES, "Sums over a partition that are not those of the tables", ""
    OUTSIDE_LEDGER = "outside_ledger", _YES, "Rows outside of what the ledger covers", ""
    GAP_BEYOND_COVERAGE = "gap_beyond_coverage", _YES, "Gaps beyond what the ledger covers", ""
    UNKNOWN_ATTEMPT = "unknown_attempt", _YES, "Gaps of an attempt not in the ledger there", ""
    UNKNOWN_CAUSE = "unknown_cause", _YES, "Gaps with a cause that does not exist", ""
    NO_EVIDENCE = "no_evidence", _YES, "Quarantined gaps with nothing there in quarantine", ""
    OUTCOME = "outcome", _YES, "Transactions ingested otherwise than their markers say", ""
    LEDGER_OVERLAP = "ledger_overlap", _YES, "Ingest ranges of the ledger that overlap", ""
    REPAIR_OUTSIDE = "repair_outside", _YES, "Repair ranges outside of ingest ranges", ""
    UNKNOWN_KIND = "unknown_kind", _YES, "Ranges of the ledger with a kind that does not exist", ""
    DISK_DIFFERS = "disk_differs", _YES, "A disk has records otherwise than the lake", ""
    REFUSED = "refused", _YES, "Refused"
    LEFT_OUT = "left_out", _YES, "Left out"
    NOT_COMPACTED = "not_compacted", _YES, "Tables that a maintenance could not compact", ""
    NOT_READ = "not_read", _YES, "Files with records that are not read"
    NOT_ON_DISK = "not_on_disk", _LIMIT, "Not on disk"
    NAMED_ONLY = "named_only", _YES, "Only the metadata log names it", "not on disk"
    CONTRADICTED = "contradicted", _YES, "A transaction was ingested otherwise than it ended"
    DOUBTFUL_OUTCOME = "doubtful_outcome", _YES, "Ingested with an unknown end", "unknown outcome"
    TWO_LOGS = "two_logs", _YES, "One broker has two logs of it", "replica_conflict"
    REPLICAS_DIFFER = "replicas_differ", _YES, "Replicas have different batches", "replica_conflict"
    ELECTION_WON = "election_won", _YES, "Won an election against ingested rows", "replica_conflict"
    TOO_LARGE = "too_large", _LIMIT, "Batches above limits.max_decompressed_batch_bytes"
    QUARANTINED = "quarantined", _LIMIT, "Damaged bytes hide offsets"
    UNDECIDED = "undecided", _YES, "Transactions that have not ended", ""
    REMOTE = "remote", _LIMIT, "In the remote tier only", ""
    DELETED_OR_LOST = "deleted_or_lost", _LIMIT, "Deleted by retention, or lost", ""
    DAMAGED_ABOVE = "damaged_above", _YES, "Damage above what is ingested", "not ingested yet"
    LIMIT_CROSSED = "limit_crossed", _YES, "A limit of the settings is crossed"
    OPEN_TRANSACTION = "open_transaction", _NO, "A transaction is open", "not ingested yet"
    BLOCKING_TRANSACTION = "blocking_transaction", _NO, "The transaction that a run waits for", ""
    UNDECIDED_TRANSACTION = "undecided_transaction", _NO, "Left out until it ends", "undecided"
    OPEN_ROWS = "open_rows", _NO, "A transaction whose rows are marked open", "open"
    UNKNOWN_OUTCOME = "unknown_outcome", _NO, "Damage hides how a transaction ended"
    LOST_ELECTION = "lost_election", _NO, "The replica lost an election to what is ingested", ""
    UNLISTED_TAIL = (
        "unlisted_tail",
        _NO,
        "A losing replica's batches, not listed",
        "lost an election",
    )
    LOST_TAIL = "lost_tail", _NO, "A losing replica's batches in quarantine", "replica_conflict"
    NEVER_INGESTED = "never_ingested", _NO, "Never ingested", ""
    WAITING = "waiting", _NO, "Above the high watermark", "not ingested yet"
    TAIL = "tail", _NO, "The last segment ends in no whole batch", "not ingested yet"
    IN_TIER = "in_tier", _NO, "Objects of a remote tier, which gaps account for", "not read"
    CONCURRENT_INGEST = (
        "concurrent_ingest",
        _NO,
        "Another run was first",
        "a concurrent run ingested",
    )
    CONCURRENT_FILL = "concurrent_fill", _NO, "Another run was first", "a concurrent run filled"
    NOTE = "note", _NO, "Note"


_BROKEN = "find out who wrote to the lake; ingest into a new lake; report it if nobody did"
_TO_DO: Mapping[FindingKind, str] = {
    FindingKind.NO_HIGH_WATERMARK: (
        "for a dead cluster, `seglake ingest` with `--upper-bound log_end`; a running broker "
        "writes the file every 5 s"
    ),
    FindingKind.STUCK: (
        "look at the cluster: followers that do not fetch, too few in-sync replicas, or a "
        "transaction that never ends (hanging transactions)"
    ),
    FindingKind.MISSING: (
        "look for a replica that has them, and give it to `seglake replay --source`"
    ),
    FindingKind.SUPERSEDED: "`seglake retake` with the same source",
    FindingKind.NOTHING_INGESTED: "run `seglake ingest`, and see what it says",
    FindingKind.PROBLEM: "see what it says; the section Audit of docs/messages.md says what to do",
    FindingKind.DISK_DIFFERS: "look at the disk; see the section Audit of docs/messages.md",
    FindingKind.REFUSED: (
        "do what the line says; another log of the same partition belongs into another lake"
    ),
    FindingKind.LEFT_OUT: (
        "do what the line says: decompress, unpack or rename, and ingest again; if a read failed, "
        "run again, and look if the same one comes again"
    ),
    FindingKind.NOT_COMPACTED: (
        "nothing, if the next maintenance compacts it; else look at the reason"
    ),
    FindingKind.NOT_READ: "do what the line says",
    FindingKind.NOT_ON_DISK: (
        "look for the rest: another disk, another replica; `limits.fail_on_short_log`"
    ),
    FindingKind.NAMED_ONLY: "look for another disk or a backup that has a folder of it",
    FindingKind.OUTCOME: "tell the users of the topic which producer and offsets",
    FindingKind.CONTRADICTED: "tell the users of the topic which producer and offsets",
    FindingKind.DOUBTFUL_OUTCOME: "find another replica, or check the records named",
    FindingKind.TWO_LOGS: "find out which is right; take the other into another lake",
    FindingKind.REPLICAS_DIFFER: "compare the two batches",
    FindingKind.ELECTION_WON: (
        "see `superseded`; to compare: `SELECT * FROM quarantine WHERE defect_code = "
        "'replica_conflict'`"
    ),
    FindingKind.TOO_LARGE: "`seglake replay` with the highest limit, in the command here",
    FindingKind.QUARANTINED: (
        "`seglake replay --source` with another replica fills the gaps, if it has them"
    ),
    FindingKind.UNDECIDED: (
        "another disk may have their ends; `--set read.undecided_transactions=rows` ingests their"
        " records, marked open"
    ),
    FindingKind.REMOTE: "see tiered storage",
    FindingKind.DELETED_OR_LOST: (
        "nothing, if the topic had retention or DeleteRecords; else look for a replica or an older"
        " copy that has them"
    ),
    FindingKind.DAMAGED_ABOVE: (
        "nothing while the cluster runs; for a dead cluster, `seglake ingest` with `--rescue`"
    ),
    FindingKind.LIMIT_CROSSED: (
        "the other lines say more; set the limit to `false` once it is known and accepted"
    ),
    FindingKind.OPEN_TRANSACTION: "nothing; if it never ends, see hanging transactions",
    FindingKind.BLOCKING_TRANSACTION: "nothing; if it never ends, see hanging transactions",
    FindingKind.UNDECIDED_TRANSACTION: (
        "`ingest` with another disk, which may have its end; or with `--set "
        "read.undecided_transactions=rows`, for rows that are marked open"
    ),
    FindingKind.OPEN_ROWS: "use the view `settled_records`",
    FindingKind.UNKNOWN_OUTCOME: "find another replica",
    FindingKind.UNLISTED_TAIL: (
        "nothing; of a dead cluster, `ingest --rescue` puts them into `quarantine` with their bytes"
    ),
    FindingKind.LOST_TAIL: (
        "nothing, or the command in the line, which decodes what `salvaged_records` lacks"
    ),
    FindingKind.NEVER_INGESTED: (
        "nothing, if you left these times out on purpose; else run `seglake ingest` again "
        "without them"
    ),
    FindingKind.WAITING: "a later run ingests it",
    FindingKind.TAIL: (
        "nothing; it is ingested when it is complete. On a dead disk it never is: run "
        "`seglake ingest` with `--rescue`"
    ),
    FindingKind.IN_TIER: "see tiered storage",
    FindingKind.NOTE: "see Notes",
}

CONFLICTS = (
    FindingKind.TWO_LOGS,
    FindingKind.REPLICAS_DIFFER,
    FindingKind.ELECTION_WON,
    FindingKind.LOST_TAIL,
)
"""Kinds of conflicts between replicas and the tables; the fact `batches` counts the batches."""
