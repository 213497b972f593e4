"""Frozen settings of a run, and all of their defaults.

`Settings.from_mappings` refuses unknown keys. Every value is checked again when a section is
constructed in code, so a run never has settings that contradict each other. conf/README.md explains
the keys; a test compares its table with these classes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Self, get_type_hints

from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.kafka_log.read_policy import (
    Isolation,
    LosingTails,
    ReadPolicy,
    TierPolicy,
    UndecidedTransactions,
    UpperBound,
)
from seglake.settings.layers import Layer, choose, keys_of
from seglake.settings.values import Properties, SettingsError, TopicDurations

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SOURCE_ID = re.compile(r"[A-Za-z0-9_-]+")
_MIB = 1024 * 1024
MOST_DECOMPRESSED_BATCH_BYTES = 1024 * _MIB
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LakeFormat(StrEnum):
    """Format in which the tables are written."""

    DELTA = "delta"
    PARQUET = "parquet"


def _number(default: int, *, at_least: int = 1, at_most: int | None = None) -> int:
    return field(default=default, metadata={"at_least": at_least, "at_most": at_most})


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Settings of the section `source`."""

    source_id: str | None = None

    def __post_init__(self) -> None:
        """Raise SettingsError if the id has characters that are not allowed."""
        if self.source_id is not None and not _SOURCE_ID.fullmatch(self.source_id):
            problem = f"may only have letters, digits, _ and -; got {self.source_id!r}"
            raise SettingsError("source.source_id", problem)


@dataclass(frozen=True, slots=True)
class SelectSettings:
    """Settings of the topics and times to ingest.

    Attributes:
        settled: unread files and folders that a person has handled elsewhere.
    """

    topics: tuple[str, ...] = ()
    internal_topics: bool = False
    from_timestamp: datetime | None = None
    to_timestamp: datetime | None = None
    settled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise SettingsError if the topic globs or the times contradict each other."""
        included, excluded = _included_and_excluded(self.topics)
        if "" in included or "" in excluded:
            raise SettingsError("select.topics", "a topic glob is empty")
        for glob in included:
            if glob in excluded:
                raise SettingsError("select.topics", f"{glob!r} is both included and excluded")
            if is_internal_topic(glob) and not self.internal_topics:
                problem = f"{glob!r} is an internal topic, but select.internal_topics is false"
                raise SettingsError("select.topics", problem, other_key="select.internal_topics")
        start, end = self.from_timestamp, self.to_timestamp
        if start is not None and end is not None and start >= end:
            problem = f"{end.isoformat()} must be after from_timestamp {start.isoformat()}"
            raise SettingsError("select.to_timestamp", problem, other_key="select.from_timestamp")

    @property
    def from_timestamp_ms(self) -> int | None:
        """Return the first millisecond of the window; None for no lower limit."""
        return None if self.from_timestamp is None else _milliseconds(self.from_timestamp)

    @property
    def to_timestamp_ms(self) -> int | None:
        """Return the first millisecond after the window; None for no upper limit."""
        return None if self.to_timestamp is None else _milliseconds(self.to_timestamp)

    @property
    def has_window(self) -> bool:
        """Return whether the settings select a window of time."""
        return self.from_timestamp is not None or self.to_timestamp is not None

    def selects_topic(self, topic: str) -> bool:
        """Return whether `topics` selects a topic and does not exclude it."""
        return self._matches(topic) and (self.internal_topics or not is_internal_topic(topic))

    def leaves_out_internal(self, topic: str) -> bool:
        """Return whether a topic is not selected only because it is internal."""
        return self._matches(topic) and not self.selects_topic(topic)

    def _matches(self, topic: str) -> bool:
        included, excluded = _included_and_excluded(self.topics)
        if any(fnmatchcase(topic, glob) for glob in excluded):
            return False
        return not included or any(fnmatchcase(topic, glob) for glob in included)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings for reading, and for splitting segments into tasks."""

    isolation: Isolation = Isolation.READ_COMMITTED
    upper_bound: UpperBound = UpperBound.HIGH_WATERMARK
    older_copies: bool = False
    undecided_transactions: UndecidedTransactions = UndecidedTransactions.GAPS
    losing_tails: LosingTails = LosingTails.QUARANTINE
    salvage: bool = False
    split_bytes: int = _number(64 * _MIB)
    window_bytes: int = _number(4 * _MIB, at_least=64 * 1024)
    decoded_bytes: int = _number(24 * _MIB, at_most=512 * _MIB)

    def __post_init__(self) -> None:
        """Raise SettingsError if a number is out of its bounds, or a window exceeds a split."""
        _check_bounds("read", self)
        if self.window_bytes > self.split_bytes:
            problem = f"{self.window_bytes} is above read.split_bytes {self.split_bytes}"
            raise SettingsError("read.window_bytes", problem, other_key="read.split_bytes")


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Settings for the tables' format, and for the sizes of files and commits."""

    format: LakeFormat = LakeFormat.DELTA
    wave_bytes: int = _number(64 * 1024 * _MIB)
    target_file_bytes: int = _number(256 * _MIB)
    compression_level: int = _number(1, at_most=22)
    single_writer: bool = False

    def __post_init__(self) -> None:
        """Raise SettingsError if a number is out of its bounds."""
        _check_bounds("write", self)


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Settings for storing damaged bytes."""

    max_raw_bytes: int = _number(_MIB, at_least=0)

    def __post_init__(self) -> None:
        """Raise SettingsError if a number is out of its bounds."""
        _check_bounds("quarantine", self)


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """Settings for the removal of old records and files by a maintenance.

    Attributes:
        records: highest age of records by topic glob. The longest glob that matches a topic counts;
            None keeps the topic's records for ever. Topics whose name begins with `_`, such as
            `_schemas`, match only globs that begin with `_`.
    """

    records: TopicDurations = ()

    def records_of(self, topic: str) -> timedelta | None:
        """Return the highest age of a topic's records; None for any age."""
        found = [
            (len(glob), glob, limit)
            for glob, limit in self.records
            if fnmatchcase(topic, glob) and topic.startswith("_") <= glob.startswith("_")
        ]
        return max(found)[2] if found else None


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    """Settings for limits: hard ones, and ones that end a run with exit code 3."""

    # Together with the buffered bytes (read.decoded_bytes) it stays below 2 GiB, the limit of
    # Arrow's views.
    max_decompressed_batch_bytes: int = _number(64 * _MIB, at_most=MOST_DECOMPRESSED_BATCH_BYTES)
    fail_on_quarantine: bool = True
    fail_on_unexplained_gap: bool = True
    fail_on_remote_gap: bool = True
    fail_on_short_log: bool = True
    fail_on_rejects: bool = True
    hanging_transaction_after: timedelta | None = None
    stuck_after: timedelta | None = None
    local_processes: int = _number(0, at_least=0)

    def __post_init__(self) -> None:
        """Raise SettingsError if a number is out of its bounds, or a duration is not positive."""
        _check_bounds("limits", self)
        for name in ("hanging_transaction_after", "stuck_after"):
            after = getattr(self, name)
            if after is not None and after <= timedelta(0):
                raise SettingsError(f"limits.{name}", "must be longer than 0")

    @property
    def hanging_transaction_after_ms(self) -> int | None:
        """Return `hanging_transaction_after` in milliseconds; None means waiting for ever."""
        after = self.hanging_transaction_after
        return None if after is None else after // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TieredSettings:
    """Settings of remote tiers.

    Attributes:
        keys: files of the private keys of encrypted tiers, by key id.
        take_deleted: whether to also read segments that the cluster has deleted but the tier still
            has.
        take_other_ids: whether to also read tiers whose topics have other ids than the cluster's,
            because all topics were created again.
    """

    keys: Properties = ()
    take_deleted: bool = False
    take_other_ids: bool = False


@dataclass(frozen=True, slots=True)
class ValuesSettings:
    """Settings for keys and values that do not name their schemas.

    Attributes:
        subjects: subject of the registry by `<topic>-value` or `<topic>-key`; for Protobuf,
            `<subject>#<full name of the message>`.
    """

    subjects: Properties = ()

    def __post_init__(self) -> None:
        """Raise SettingsError if a name has the wrong form, or a subject is empty."""
        for name, subject in self.subjects:
            if not name.endswith(("-value", "-key")):
                problem = f"{name} must be <topic>-value or <topic>-key"
                raise SettingsError("values.subjects", problem)
            if not subject.partition("#")[0]:
                raise SettingsError("values.subjects", f"{name} names no subject")


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Settings for Spark: its master, and its own properties."""

    master: str = "local[*]"
    properties: Properties = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run; they can be pickled, so tasks may contain them."""

    source: SourceSettings = field(default_factory=SourceSettings)
    select: SelectSettings = field(default_factory=SelectSettings)
    read: ReadSettings = field(default_factory=ReadSettings)
    write: WriteSettings = field(default_factory=WriteSettings)
    quarantine: QuarantineSettings = field(default_factory=QuarantineSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    tiered: TieredSettings = field(default_factory=TieredSettings)
    values: ValuesSettings = field(default_factory=ValuesSettings)
    spark: SparkSettings = field(default_factory=SparkSettings)

    def __post_init__(self) -> None:
        """Raise SettingsError if a split exceeds a wave."""
        if self.read.split_bytes > self.write.wave_bytes:
            problem = f"{self.write.wave_bytes} is below read.split_bytes {self.read.split_bytes}"
            raise SettingsError("write.wave_bytes", problem, other_key="read.split_bytes")

    @property
    def salvages_losing_tails(self) -> bool:
        """Return whether a run also decodes batches of replicas that lost an election."""
        return self.read.losing_tails is LosingTails.ROWS

    @property
    def salvages(self) -> bool:
        """Return whether a run decodes quarantined batches into `salvaged_records`."""
        return self.read.salvage or self.salvages_losing_tails

    @property
    def reads_undecided(self) -> bool:
        """Return whether read_committed ingests open transactions that it does not wait for."""
        return self.read.undecided_transactions is UndecidedTransactions.ROWS

    @property
    def reads_dead_logs(self) -> bool:
        """Return whether logs are read to their end, as for a dead cluster."""
        return self.read.upper_bound is UpperBound.LOG_END and not self.select.has_window

    @property
    def read_policy(self) -> ReadPolicy:
        """Return the rules for the end of reading and for open transactions."""
        return ReadPolicy(
            isolation=self.read.isolation,
            upper_bound=self.read.upper_bound,
            hanging_after_ms=self.limits.hanging_transaction_after_ms,
        )

    @property
    def tier_policy(self) -> TierPolicy:
        """Return the rules for reading remote tiers."""
        return TierPolicy(
            includes_deleted=self.tiered.take_deleted,
            includes_other_ids=self.tiered.take_other_ids,
            key_paths=self.tiered.keys,
        )

    @classmethod
    def from_mappings(cls, layers: Sequence[Layer]) -> Self:
        """Merge layers over the defaults; later layers override earlier ones.

        A list replaces the earlier list; tables are merged by name.

        Args:
            layers: (origin, sections) of each layer, the strongest last.

        Raises:
            SettingsError: an unknown section or key, a wrong type or value, or a contradiction; it
                names key and origin.
        """
        sections = get_type_hints(cls)
        chosen = choose(sections, layers)
        try:
            return cls(**{name: sections[name](**given) for name, given in chosen.values.items()})
        except SettingsError as error:
            raise chosen.blamed(error) from None


def setting_keys() -> list[str]:
    """Return all keys of settings as `section.name`."""
    return keys_of(get_type_hints(Settings))


def _included_and_excluded(globs: Sequence[str]) -> tuple[list[str], list[str]]:
    included = [glob for glob in globs if not glob.startswith("!")]
    return included, [glob[1:] for glob in globs if glob.startswith("!")]


def _milliseconds(moment: datetime) -> int:
    """Return the first whole millisecond since the epoch that is not before `moment`."""
    return -((_EPOCH - moment) // timedelta(milliseconds=1))


def _check_bounds(section: str, values: "DataclassInstance") -> None:
    for bounded in fields(values):
        key, value = f"{section}.{bounded.name}", getattr(values, bounded.name)
        at_least, at_most = bounded.metadata.get("at_least"), bounded.metadata.get("at_most")
        if at_least is not None and value < at_least:
            raise SettingsError(key, f"must be at least {at_least}, got {value}")
        if at_most is not None and value > at_most:
            raise SettingsError(key, f"must be at most {at_most}, got {value}")
