"""Summary of an erasure, for a person and for programs. It has no payload."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.run_summary import RunSummary
from seglake.lake.tables import QUARANTINE
from seglake.pipelines.lake_erase.file_changes import ChangedTable
from seglake.pipelines.lake_erase.longer_keys import LongerKeys
from seglake.pipelines.lake_erase.other_tables import OtherTables
from seglake.pipelines.lake_erase.purge import PurgedFiles
from seglake.pipelines.lake_erase.records import ErasedTopic
from seglake.printable import as_lines, show_bytes, show_count

_MOST_PATHS = 20  # most lines about files that a purge would delete


@dataclass(slots=True)
class EraseSummary(RunSummary):
    """Summary of a run of `erase`, or of its dry run.

    Attributes:
        topic_count: number of selected topics.
        topics: outcome for the rows of `records`, by source and topic.
        others: other tables that lost rows; rows of `quarantine` only lost their bytes.
        undecodable: number of damaged batches that could not be searched, by partition.
        purged: deleted files of earlier versions; None if none were to be deleted.
        recovered: topics whose commit was left unfinished by a dead run and is now complete.
        has_key_rule: whether a rule for a key was stored, which later runs obey.
        kept_until: until when `maintain` keeps the replaced files; None if there are none.
        rules: number of rules that the run stored.
        lifted: number of rules that the run has lifted; None if it erased.
    """

    topic_count: int = 0
    topics: list[ErasedTopic] = field(default_factory=list)
    others: list[ChangedTable] = field(default_factory=list)
    undecodable: dict[str, int] = field(default_factory=dict)
    purged: PurgedFiles | None = None
    recovered: list[str] = field(default_factory=list)
    has_key_rule: bool = False
    kept_until: datetime | None = None
    rules: int = 0
    lifted: int | None = None

    def add_nothing(self, key: bytes | None, longer: LongerKeys) -> None:
        """Add that no table had such a record, and how many keys contain the key."""
        nothing = "the condition holds for no record"
        if key is not None:
            nothing = f"no record has this key, of {show_count(len(key), 'byte')}"
        if longer.records:
            framed = f" ({longer.framed} of them after a schema registry's frame)"
            nothing += (
                f"; {show_count(longer.records, 'record')} of these topics have a longer key that"
                f" contains it{framed if longer.framed else ''}: give a whole key with --key-hex,"
                " or use --where"
            )
        self.findings.add_texts(FindingKind.NOTHING_ERASED, [nothing])

    def add_others(self, others: OtherTables) -> None:
        """Add the rows erased from other tables than `records`."""
        self.others = [done for done in others.changed.values() if done.rows]
        self.undecodable = others.undecodable
        self.findings.add(_unsearched(place, count) for place, count in self.undecodable.items())
        self.has_key_rule = others.requested.key is not None and not self.is_dry_run

    def add_purged(self, purged: PurgedFiles) -> None:
        """Add the files that a purge has deleted or would delete, and its failures."""
        self.purged = purged
        if not self.is_dry_run:
            self.findings.add(_not_deleted(purged))

    @property
    def records(self) -> int:
        """Return the number of erased rows of `records`."""
        return sum(topic.erased.records for topic in self.topics)

    @property
    def has_erased(self) -> bool:
        """Return whether any table had a requested record, or its bytes."""
        return bool(self.records or self.others)

    @property
    def is_purge_incomplete(self) -> bool:
        """Return whether a purge has left files that may have the records."""
        purged = self.purged
        return purged is not None and bool(purged.not_deleted or purged.left_files)

    # Any: the types that JSON can hold.
    def shown_facts(self) -> dict[str, Any]:
        """Return facts for JSON that are no fields, or have another form than their field."""
        return {
            "topics": [_facts(topic) for topic in self.topics],
            "records": self.records,
            "others": [table.to_mapping() for table in self.others],
            "purged": None if self.purged is None else self.purged.to_mapping(),
            "kept_until": None if self.kept_until is None else self.kept_until.isoformat(),
        }

    def to_text(self) -> str:
        """Return the summary of an erasure as lines for a terminal."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += [self._line(topic) for topic in self.topics if topic.erased.records]
        lines += [self._changed(table) for table in self.others]
        lines += self._old_files()
        if self.rules:
            rules = show_count(self.rules, "rule")
            lines.append(f"{rules} stored; seglake erase --lift {self.run_id} lifts what it stored")
        if self.recovered:
            lines.append(f"completed what an earlier run began: {', '.join(self.recovered)}")
        lines += self.findings.lines()
        return as_lines(lines)

    def _headline(self) -> str:
        if self.lifted is not None:
            return self._headline_of_lift(self.lifted)
        if not self.records:
            return self._headline_without_rows()
        with_rows = {topic.topic for topic in self.topics if topic.erased.records}
        of = show_count(len(with_rows), "topic")
        verb = "would be erased" if self.is_dry_run else "erased"
        return f"{show_count(self.records, 'record')} of {of} {verb}"

    def _headline_of_lift(self, lifted: int) -> str:
        rules = show_count(lifted, "rule")
        if self.is_dry_run:
            return f"{rules} would be lifted; nothing was changed"
        return (
            f"{rules} lifted: later runs ingest such records again; those that were erased come"
            " back by seglake retake --all only"
        )

    def _headline_without_rows(self) -> str:
        text = f"no row of records of {show_count(self.topic_count, 'topic')} matches"
        if self.is_dry_run:
            return f"{text}; nothing was stored"
        if self.has_key_rule:
            return f"{text}; the rule is stored, and later runs skip such records"
        return text

    def _old_files(self) -> list[str]:
        """Return lines on files of earlier versions, which still have the erased bytes."""
        if self.purged is not None:
            return self._purged_files(self.purged)
        if self.is_dry_run or self.kept_until is None:
            return []
        return [
            "files of earlier versions still have the bytes; maintain deletes them from"
            f" {self.kept_until:%F} on, --purge at once"
        ]

    def _purged_files(self, purged: PurgedFiles) -> list[str]:
        count = f"{show_count(len(purged.sizes), 'old file')} of {show_bytes(purged.size_bytes)}"
        were, fail = ("would be ", "would fail") if self.is_dry_run else ("", "fail")
        line = (
            f"{count} {were}deleted; readers of earlier versions {fail}: running queries, time"
            " travel, earlier metadata for Iceberg"
        )
        if not self.is_dry_run:
            return [line]
        shown = [path.removeprefix(f"{self.lake}/") for path in sorted(purged.sizes)]
        rest = len(shown) - _MOST_PATHS
        return [
            line,
            *(f"  {path}" for path in shown[:_MOST_PATHS]),
            *([f"  and {rest} more (--json has them all)"] if rest > 0 else []),
        ]

    def _changed(self, table: ChangedTable) -> str:
        was = "would be" if self.is_dry_run else ("was" if table.rows == 1 else "were")
        were = "would be" if self.is_dry_run else "were"
        if table.table == QUARANTINE.name:
            batches = show_count(table.rows, "damaged batch", "damaged batches")
            return f"quarantine: the bytes of {batches} {were} dropped"
        return f"{table.table}: {show_count(table.rows, 'row')} {was} removed"

    def _line(self, topic: ErasedTopic) -> str:
        name = (
            topic.topic
            if len({each.source_id for each in self.topics}) < 2
            else (f"{topic.topic} of {topic.source_id}")
        )
        written = "to be written again" if self.is_dry_run else "written again"
        files = f"{topic.files} of {show_count(topic.read_files, 'file')}"
        return (
            f"{name}: {show_count(topic.erased.records, 'record')};"
            f" {files} {written}, {show_bytes(topic.size_bytes)}"
        )


def _not_deleted(purged: PurgedFiles) -> Iterator[Finding]:
    """Yield a finding for each table, and one for files of other runs, that a purge has left."""
    kind = FindingKind.NOT_DELETED
    for table, reason in sorted(purged.not_deleted.items()):
        yield Finding(kind, f"{table}: {reason}", table)
    if purged.left_files:
        left = show_count(purged.left_files, "file")
        yield Finding(
            kind,
            f"{left} of active or dead runs may have the records: run it again when no run is"
            " active, or let maintain delete them after 7 days",
            facts={"files": purged.left_files},
        )


def _unsearched(place: str, count: int) -> Finding:
    batches = show_count(count, "damaged batch", "damaged batches")
    text = f"{place}: {batches} in quarantine cannot be decoded, and may have the records"
    return Finding(FindingKind.UNSEARCHED, text, place, facts={"batches": count})


def _facts(topic: ErasedTopic) -> dict[str, object]:
    facts = asdict(topic)
    del facts["erased"]
    return facts | topic.erased._asdict()
