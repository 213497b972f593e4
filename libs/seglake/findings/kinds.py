"""Catalogue of findings: one row for each kind, the most urgent first.

Summaries, `--json`, exit codes, events, metrics and the report use it. docs/messages.md explains
each row in the same order.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Self


class Look(Enum):
    """Need for a person to check a finding. YES ends the run with exit code 3."""

    YES = "yes"
    BY_LIMIT = "by a limit"  # only if a setting `limits.fail_on_*` is true
    NO = "no"


_YES, _LIMIT, _NO = Look


class FindingKind(StrEnum):
    """Kind of a finding; members are defined as (name, look, words, label).

    Attributes:
        look: whether a run with such a finding ends with exit code 3.
        words: description, used as a heading and before examples.
        label: start of the finding's lines in the summary, by default the name; empty if another
            line of the summary reports it.
    """

    look: Look
    words: str
    label: str

    def __new__(cls, name: str, look: Look, words: str, label: str | None = None) -> Self:
        """Make a kind from its row in the catalogue."""
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
        """Return the advice, which docs/messages.md repeats."""
        return _TO_DO.get(self, _BROKEN if self.needs_a_look else "nothing")

    NO_HIGH_WATERMARK = "no_high_watermark", _YES, "No high watermark", "blocked"
    STUCK = "stuck", _YES, "Stuck: the log grows, but its high watermark does not move"
    MISSING = "missing", _YES, "Missing without a known cause", ""
    SUPERSEDED = "superseded", _YES, "Rows that lost an election and are not replaced yet"
    NOTHING_INGESTED = "nothing_ingested", _YES, "Nothing was ingested", ""
    PROBLEM = "problem", _YES, "Problem of the lake as a whole"
    OFFSET_TWICE = "offset_twice", _YES, "Offsets more than once in records", ""
    OVERLAP = "overlap", _YES, "Batches and gaps that overlap", ""
    NOT_ACCOUNTED = "not_accounted", _YES, "Covered offsets with neither a batch nor a gap", ""
    ROW_COUNT = "row_count", _YES, "Batches with more or fewer rows in records than they count", ""
    ROW_WITHOUT_BATCH = (
        "row_without_batch",
        _YES,
        "Rows in records whose batch is not in batches",
        "",
    )
    ROW_OUTSIDE_BATCH = (
        "row_outside_batch",
        _YES,
        "Rows in records outside of the offsets of their batch",
        "",
    )
    EQUATION = "equation", _YES, "Ranges that do not add up", ""
    LEDGER_SUMS = "ledger_sums", _YES, "Sums in the ledger that differ from the tables", ""
    BYTES = "bytes", _YES, "Sums over a partition that differ from the tables", ""
    OUTSIDE_LEDGER = "outside_ledger", _YES, "Rows at offsets that the ledger does not cover", ""
    GAP_BEYOND_COVERAGE = (
        "gap_beyond_coverage",
        _YES,
        "Gaps at offsets outside the range of the commit that recorded them",
        "",
    )
    UNKNOWN_ATTEMPT = "unknown_attempt", _YES, "Gaps whose attempt is not in the ledger", ""
    UNKNOWN_CAUSE = "unknown_cause", _YES, "Gaps with a cause that does not exist", ""
    NO_EVIDENCE = "no_evidence", _YES, "Gaps called quarantined without rows in quarantine", ""
    OUTCOME = "outcome", _YES, "Transactions whose ingested end contradicts their markers", ""
    REMOVED_GAPS = "removed_gaps", _YES, "Removed records that are not the recorded gaps", ""
    REMOVED_BACK = "removed_back", _YES, "Records at offsets that have expired", ""
    NOT_SWEPT = "not_swept", _YES, "Rows of expired records that other tables still have", ""
    LEDGER_OVERLAP = "ledger_overlap", _YES, "Ingest ranges of the ledger that overlap", ""
    REPAIR_OUTSIDE = "repair_outside", _YES, "Repair ranges outside of ingest ranges", ""
    UNKNOWN_KIND = "unknown_kind", _YES, "Ranges of the ledger with a kind that does not exist", ""
    NOT_ERASED = "not_erased", _YES, "Erasures that have not ended"
    TYPED_ROWS = (
        "typed_rows",
        _YES,
        "Records that are not exactly one typed row or one rejected value",
        "",
    )
    TYPED_SUMS = "typed_sums", _YES, "Counts of decoded records that differ from the tables", ""
    LATEST_ROWS = "latest_rows", _YES, "Rows of latest state that differ from the records", ""
    DISK_DIFFERS = "disk_differs", _YES, "Records on a disk that differ from the lake", ""
    REFUSED = "refused", _YES, "Refused"
    LEFT_OUT = "left_out", _YES, "Left out"
    REJECTED = "rejected", _LIMIT, "Keys or values that do not decode"
    NO_KEY = "no_key", _YES, "Encrypted in a remote tier, and not read"
    UNPROVED_TIER = "unproved_tier", _YES, "A remote tier that may be another cluster's"
    NOT_COMPACTED = "not_compacted", _YES, "Tables that a maintenance could not compact", ""
    NOTHING_ERASED = "nothing_erased", _YES, "An erasure that found no record"
    NOT_DELETED = "not_deleted", _YES, "Old files that a purge could not delete"
    UNSEARCHED = "unsearched", _YES, "Damaged batches that an erasure could not search"
    NOT_READ = "not_read", _YES, "Files with records that are not read"
    NOT_ON_DISK = "not_on_disk", _LIMIT, "Not on disk"
    NAMED_ONLY = "named_only", _YES, "Partition that only the metadata log names", "not on disk"
    CONTRADICTED = "contradicted", _YES, "A transaction was ingested with the wrong end"
    DOUBTFUL_OUTCOME = (
        "doubtful_outcome",
        _YES,
        "A transaction was ingested, but its end is unknown",
        "unknown outcome",
    )
    TWO_LOGS = "two_logs", _YES, "One broker has two logs of a partition", "replica_conflict"
    REPLICAS_DIFFER = "replicas_differ", _YES, "Replicas have different batches", "replica_conflict"
    ELECTION_WON = (
        "election_won",
        _YES,
        "A replica won an election against ingested rows",
        "replica_conflict",
    )
    TOO_LARGE = "too_large", _LIMIT, "Batches above limits.max_decompressed_batch_bytes"
    QUARANTINED = "quarantined", _LIMIT, "Damaged bytes hide offsets"
    DAMAGED = "damaged", _YES, "Damaged bytes in a segment", ""
    TORN_END = "torn_end", _YES, "A file ends with an incomplete batch", ""
    DAMAGED_FILE = "damaged_file", _YES, "A file beside the segments is damaged or unreadable"
    NO_RECORD = "no_record", _YES, "No record has the offset"
    UNDECIDED = "undecided", _YES, "Transactions that have not ended", ""
    REMOTE = "remote", _LIMIT, "In the remote tier only", ""
    TIER_GAP = "tier_gap", _LIMIT, "Offsets that the given remote tier cannot give", "not read"
    DELETED_OR_LOST = "deleted_or_lost", _LIMIT, "Deleted by retention, or lost", ""
    DAMAGED_ABOVE = "damaged_above", _YES, "Damage above what is ingested", "not ingested yet"
    LIMIT_CROSSED = "limit_crossed", _YES, "A limit of the settings is crossed"
    OPEN_TRANSACTION = "open_transaction", _NO, "A transaction is open", "not ingested yet"
    BLOCKING_TRANSACTION = "blocking_transaction", _NO, "The transaction that a run waits for", ""
    UNDECIDED_TRANSACTION = (
        "undecided_transaction",
        _NO,
        "A transaction left out until it ends",
        "undecided",
    )
    OPEN_ROWS = "open_rows", _NO, "A transaction whose rows are marked open", "open"
    UNKNOWN_OUTCOME = "unknown_outcome", _NO, "Damage hides how a transaction ended"
    LOST_ELECTION = "lost_election", _NO, "The replica lost an election to the ingested log", ""
    UNLISTED_TAIL = (
        "unlisted_tail",
        _NO,
        "A losing replica's batches, in no table",
        "lost an election",
    )
    LOST_TAIL = "lost_tail", _NO, "A losing replica's batches in quarantine", "replica_conflict"
    NEVER_INGESTED = "never_ingested", _NO, "Never ingested", ""
    WAITING = "waiting", _NO, "Above the high watermark", "not ingested yet"
    TAIL = "tail", _NO, "The last segment ends with an incomplete batch", "not ingested yet"
    IN_TIER = "in_tier", _NO, "Objects of a remote tier, whose offsets are gaps", "not read"
    CONCURRENT_INGEST = (
        "concurrent_ingest",
        _NO,
        "Another run ingested the offsets first",
        "a concurrent run ingested",
    )
    CONCURRENT_FILL = (
        "concurrent_fill",
        _NO,
        "Another run filled the gap first",
        "a concurrent run filled",
    )
    NOTE = "note", _NO, "Note"


_BROKEN = (
    "find out who else wrote to the lake, and ingest into a new lake; if nobody did, report a bug"
)
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
        "look for a replica that has these offsets, and run `seglake replay --source` with it"
    ),
    FindingKind.SUPERSEDED: "`seglake retake` with the same source",
    FindingKind.NOTHING_INGESTED: "run `seglake ingest`, and read its summary",
    FindingKind.PROBLEM: "look up the line in the section Audit of docs/messages.md",
    FindingKind.TYPED_ROWS: "`seglake deserialize --rebuild` writes the topic's typed tables anew",
    FindingKind.TYPED_SUMS: "`seglake deserialize --rebuild` writes the topic's typed tables anew",
    FindingKind.LATEST_ROWS: "`seglake latest --rebuild` computes the topic's rows anew",
    FindingKind.DISK_DIFFERS: "check the disk; see the section Audit of docs/messages.md",
    FindingKind.REFUSED: (
        "do what the line says; another log of the same partition belongs into another lake"
    ),
    FindingKind.LEFT_OUT: (
        "do what the line says: decompress, unpack or rename, and ingest again; if a read failed, "
        "run again, and check the disk if the same read fails again"
    ),
    FindingKind.REJECTED: (
        "see why: `SELECT topic, part, reason, count(*) FROM current_value_rejects GROUP BY ALL`; "
        "schemas that turn up later: `seglake deserialize --retry-rejects`; if you accept them: "
        "`limits.fail_on_rejects` `false`"
    ),
    FindingKind.NO_KEY: "give the private key: `--tiered-key ID=FILE`",
    FindingKind.UNPROVED_TIER: (
        "check that the tier is this cluster's; a log dir of the cluster, given too, proves it. "
        "Later runs know its topics"
    ),
    FindingKind.NOT_COMPACTED: (
        "nothing, if the next maintenance compacts the table; else see the reason in the line"
    ),
    FindingKind.UNSEARCHED: (
        "if you cannot rule it out, run the same command with `--drop-undecodable`; before, "
        "`seglake replay --source` with another copy brings the other records of these batches"
    ),
    FindingKind.NOT_SWEPT: "`seglake maintain` with the same settings, which ends the removal",
    FindingKind.NOT_ERASED: (
        "nothing, if it is running; if it was killed, run the command in the line, which ends it"
    ),
    FindingKind.NOTHING_ERASED: (
        "look at some keys of the topic, and give the whole key with `--key-hex`, or a condition "
        "with `--where`"
    ),
    FindingKind.NOT_DELETED: "mend what the line names, and run the same command again",
    FindingKind.NOT_READ: "do what the line says",
    FindingKind.NOT_ON_DISK: (
        "look for another disk or replica that has these offsets; if there is none, set "
        "`limits.fail_on_short_log` to `false`"
    ),
    FindingKind.NAMED_ONLY: "look for another disk or a backup that has a folder of it",
    FindingKind.OUTCOME: "warn the users of the topic, with the producer and offsets in the line",
    FindingKind.CONTRADICTED: (
        "warn the users of the topic, with the producer and offsets in the line"
    ),
    FindingKind.DOUBTFUL_OUTCOME: (
        "ingest another replica, or check the records that the line names"
    ),
    FindingKind.TWO_LOGS: "find out which log is right; ingest the other into another lake",
    FindingKind.REPLICAS_DIFFER: "compare the two batches with `seglake inspect --offset`",
    FindingKind.ELECTION_WON: (
        "see `superseded`; to compare: `SELECT * FROM quarantine WHERE defect_code = "
        "'replica_conflict'`"
    ),
    FindingKind.TOO_LARGE: "run the command in the line, which decodes them with a higher limit",
    FindingKind.QUARANTINED: (
        "`seglake replay --source` with another replica fills the gaps, if it has the records"
    ),
    FindingKind.DAMAGED: "another replica may have the records; `seglake ingest` keeps the bytes",
    FindingKind.TORN_END: "nothing while the broker runs; else another replica may have the rest",
    FindingKind.DAMAGED_FILE: (
        "nothing is lost: an ingest reads the segments without it; check if the disk is failing"
    ),
    FindingKind.NO_RECORD: "look at the lines above: a hole, damage, or the batch that lacks it",
    FindingKind.UNDECIDED: (
        "ingest another disk, which may have the ends; or `--set "
        "read.undecided_transactions=rows`, which ingests the records and marks them open"
    ),
    FindingKind.REMOTE: "`seglake replay --source` with the tier fills the gaps: tiered storage",
    FindingKind.TIER_GAP: (
        "do what the line says, then `seglake replay --source` with the tier or with another copy"
    ),
    FindingKind.DELETED_OR_LOST: (
        "nothing, if the topic had retention or DeleteRecords; else look for a replica or an older"
        " copy that has them"
    ),
    FindingKind.DAMAGED_ABOVE: (
        "nothing while the cluster runs; for a dead cluster, `seglake ingest` with `--rescue`. An "
        "object of a remote tier: bring it back, or give another copy"
    ),
    FindingKind.LIMIT_CROSSED: (
        "see the other lines; set the limit to `false` once you know the loss and accept it"
    ),
    FindingKind.OPEN_TRANSACTION: "nothing; if it never ends, see hanging transactions",
    FindingKind.BLOCKING_TRANSACTION: "nothing; if it never ends, see hanging transactions",
    FindingKind.UNDECIDED_TRANSACTION: (
        "ingest another disk, which may have its end; or `--set "
        "read.undecided_transactions=rows`, which ingests the records and marks them open"
    ),
    FindingKind.OPEN_ROWS: "use the view `settled_records`",
    FindingKind.UNKNOWN_OUTCOME: "ingest another replica, whose marker may be sound",
    FindingKind.UNLISTED_TAIL: (
        "nothing; for a dead cluster, `seglake ingest --rescue` puts the batches into `quarantine`"
    ),
    FindingKind.LOST_TAIL: (
        "nothing; to read the records, run the command in the line, which decodes them into "
        "`salvaged_records`"
    ),
    FindingKind.NEVER_INGESTED: (
        "nothing, if you left these times out on purpose; else run `seglake ingest` again "
        "without `--from-timestamp` and `--to-timestamp`"
    ),
    FindingKind.WAITING: (
        "nothing; a later run ingests them. For a dead cluster, `seglake ingest` with `--rescue`"
    ),
    FindingKind.TAIL: (
        "nothing; a later run ingests the batch when it is complete. On a dead disk it never is: "
        "run `seglake ingest` with `--rescue`"
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
"""Kinds of conflicts between replicas and tables; their fact `batches` is the number of batches."""
