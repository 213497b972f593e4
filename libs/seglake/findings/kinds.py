"""Catalogue of findings: one row for each kind, the most urgent first.

Summaries, `--json`, exit codes, events, metrics and the report use it. docs/messages.md explains
each row in the same order.
"""

import tomllib
from collections.abc import Mapping
from enum import Enum, StrEnum
from functools import cache
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
        return _advice().get(self, _BROKEN if self.needs_a_look else "nothing")

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
CONFLICTS = (
    FindingKind.TWO_LOGS,
    FindingKind.REPLICAS_DIFFER,
    FindingKind.ELECTION_WON,
    FindingKind.LOST_TAIL,
)
"""Kinds of conflicts between replicas and tables; their fact `batches` is the number of batches."""


@cache
def _advice() -> Mapping[str, str]:
    """Return the texts of advice.toml by kind."""
    from importlib.resources import files  # 5 ms that a run without findings saves

    return tomllib.loads(files(__package__).joinpath("advice.toml").read_text("utf-8"))
