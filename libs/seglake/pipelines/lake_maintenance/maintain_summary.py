"""Summary of a maintenance, for a person and for programs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.run_summary import RunSummary
from seglake.printable import as_lines, show_bytes, show_count


@dataclass(slots=True)
class TableMaintenance:
    """Changes to one table.

    Attributes:
        table: name of the table.
        files_before: number of data files in the newest version before.
        bytes_before: size of the files before.
        files_after: number of data files in the newest version; None after a dry run.
        bytes_after: size of the files after; None after a dry run.
        merged_files: number of merged files; a file merged twice counts twice.
        new_files: number of files that replaced merged files.
        deleted_files: number of deleted files, which belonged to dead runs or old versions.
        deleted_bytes: size of the deleted files.
        seconds: duration of the table's maintenance.
        failure: why the table could not be compacted; empty without a failure.
    """

    table: str
    files_before: int
    bytes_before: int
    files_after: int | None = None
    bytes_after: int | None = None
    merged_files: int = 0
    new_files: int = 0
    deleted_files: int = 0
    deleted_bytes: int = 0
    seconds: float = 0.0
    failure: str = ""

    @property
    def expected_files(self) -> int:
        """Return the final number of files; after a dry run, an upper limit of it."""
        planned = self.files_before - self.merged_files + self.new_files
        return planned if self.files_after is None else self.files_after


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredPartition:
    """Records of one partition that a maintenance removed, or would remove.

    Attributes:
        source_id: the cluster.
        start_offset: first offset of the expired range.
        next_offset: the partition's new start.
        records: number of removed records.
        payload_bytes: size of the records' keys and values.
        lost_offsets: number of offsets in the range that were lost before.
        oldest: time of the oldest record of the touched ranges, ISO-8601; None if unknown.
        newest: time of the newest removed record, ISO-8601; None if no record has a time.
        first_kept: time of the first record that stays; None if there is none, or it has no time.
        is_held_back: whether the first record that stays has a time in the future, or no time, so
            that all records above it stay, too.
    """

    source_id: str
    topic: str
    partition: int
    start_offset: int
    next_offset: int
    records: int
    payload_bytes: int
    lost_offsets: int
    oldest: str | None
    newest: str | None
    first_kept: str | None
    is_held_back: bool

    def text(self, verb: str) -> str:
        """Return one line on the expired records; `verb` is "expired" or "would expire"."""
        count = f"{show_count(self.records, 'record')} of {show_bytes(self.payload_bytes)}"
        span = f"[{self.start_offset}, {self.next_offset})"
        since = f", the oldest of {self.oldest}" if self.oldest else ""
        until = f", the newest of {self.newest}" if self.newest else ""
        lost = show_count(self.lost_offsets, "offset")
        before = f", among them {lost} lost before" if self.lost_offsets else ""
        name = f"{self.topic}-{self.partition}"
        return f"{name}: {count} {verb}, offsets {span}{before}{since}{until}"


@dataclass(slots=True)
class MaintainSummary(RunSummary):
    """Summary of a maintenance.

    Attributes:
        recovered: topics whose commit was left unfinished by a dead run and is now complete.
        expired: records that were removed because they are older than `retention.records`.
        swept: number of rows of other tables that expired with them, by table.
        tables: work done on each table.
        scratch_files: number of deleted files of dead replays and probes.
        scratch_bytes: size of these files.
    """

    recovered: list[str] = field(default_factory=list)
    expired: list[ExpiredPartition] = field(default_factory=list)
    swept: dict[str, int] = field(default_factory=dict)
    tables: list[TableMaintenance] = field(default_factory=list)
    scratch_files: int = 0
    scratch_bytes: int = 0

    def add_expired(self, expired: Iterable[ExpiredPartition]) -> None:
        """Add expired records, and notes on those that keep the records above from expiring."""
        for each in expired:
            self.expired.append(each)
            if each.is_held_back:
                time = f"a time in the future, {each.first_kept}" if each.first_kept else "no time"
                note = (
                    f"{each.topic}-{each.partition}: the batch at offset {each.next_offset} has a "
                    f"record with {time}: it and all above it stay, as in Kafka"
                )
                self.findings.add_texts(FindingKind.NOTE, [note])

    def add_swept(self, rows: Mapping[str, int]) -> None:
        """Add rows of other tables that expired, by table."""
        for table, count in rows.items():
            self.swept[table] = self.swept.get(table, 0) + count

    def add_table(self, done: TableMaintenance) -> None:
        """Add the work done on a table."""
        self.tables.append(done)
        if done.failure:
            text = f"{done.table}: {done.failure}"
            self.findings.add([Finding(FindingKind.NOT_COMPACTED, text, done.table)])

    def to_text(self) -> str:
        """Return the summary as lines for a terminal, one for each changed table."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += [each.text(self._expired) for each in self.expired]
        if self.swept:
            rows = (f"{show_count(count, 'row')} of {table}" for table, count in self.swept.items())
            lines.append(f"in other tables {self._expired}: {', '.join(rows)}")
        lines += [f"{table.table}: {done}" for table in self.tables if (done := self._done(table))]
        if self.scratch_files:
            scratch = self._deleted(self.scratch_files, self.scratch_bytes)
            lines.append(f"left by replays and probes that died: {scratch}")
        if self.recovered:
            lines.append(f"completed what an earlier run began: {', '.join(self.recovered)}")
        lines += self.findings.lines()
        return as_lines(lines)

    @property
    def _expired(self) -> str:
        return "would expire" if self.is_dry_run else "expired"

    def _headline(self) -> str:
        parts = []
        if records := sum(each.records for each in self.expired):
            parts.append(f"{show_count(records, 'record')} {self._expired}")
        compacted = [table for table in self.tables if table.merged_files]
        if compacted:
            before = sum(table.files_before for table in compacted)
            parts.append(f"{show_count(before, 'file')} {self._became(compacted)}")
        if deleted := self.scratch_files + sum(table.deleted_files for table in self.tables):
            deleted_bytes = self.scratch_bytes + sum(table.deleted_bytes for table in self.tables)
            parts.append(self._deleted(deleted, deleted_bytes))
        if failed := [table.table for table in self.tables if table.failure]:
            parts.append(f"failed to compact {', '.join(failed)}")
        text = ", ".join(parts) or "nothing to compact, nothing to delete"
        return f"dry run: {text}; nothing was changed" if self.is_dry_run else text

    def _done(self, table: TableMaintenance) -> str:
        parts = []
        if table.merged_files:
            before = f"{show_count(table.files_before, 'file')} of {show_bytes(table.bytes_before)}"
            size = "" if table.bytes_after is None else f" of {show_bytes(table.bytes_after)}"
            parts.append(f"{before} {self._became([table])}{size}")
        if table.deleted_files:
            parts.append(self._deleted(table.deleted_files, table.deleted_bytes))
        if table.failure:
            parts.append(f"not compacted, the next maintenance tries again: {table.failure}")
        return "; ".join(parts)

    def _became(self, tables: Iterable[TableMaintenance]) -> str:
        became = "would become at most" if self.is_dry_run else "became"
        return f"{became} {sum(table.expected_files for table in tables)}"

    def _deleted(self, count: int, size_bytes: int) -> str:
        were = "would be " if self.is_dry_run else ""
        return f"{show_count(count, 'old file')} of {show_bytes(size_bytes)} {were}deleted"
