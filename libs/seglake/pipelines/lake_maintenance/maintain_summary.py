"""Summary of a maintenance, for a person and for programs. Pure."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.printable import as_lines
from seglake.progress.progress_views import show_bytes
from seglake.progress.run_reporter import show_count


@dataclass(slots=True)
class TableMaintenance:
    """Changes to one table.

    Attributes:
        table: name of the table.
        files_before: number of data files that the newest version named before.
        bytes_before: their size.
        files_after: number of data files that the newest version names; None after a dry run.
        bytes_after: their size; None after a dry run.
        merged_files: number of merged files; one that was merged twice counts twice.
        new_files: number of files that replaced them.
        deleted_files: number of deleted files: those of dead runs, and those no version needs.
        deleted_bytes: their size.
        seconds: duration of the table's maintenance.
        failure: why the table was not compacted; empty if it was, or need not be.
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
        """Return the number of files after; a dry run's is a maximum, as files may merge again."""
        planned = self.files_before - self.merged_files + self.new_files
        return planned if self.files_after is None else self.files_after


@dataclass(slots=True)
class MaintainSummary:
    """Summary of a maintenance.

    Attributes:
        run_id: label of the run.
        lake: path of the lake.
        is_dry_run: nothing was changed.
        recovered: topics whose commit a dead run had begun, now complete.
        tables: work done on each table.
        left_out: reasons by topic that was named in full and does not exist.
        notes: facts that a person should know.
        scratch_files: number of deleted files of dead replays and probes.
        scratch_bytes: their size.
        seconds: duration of the run.
    """

    run_id: str
    lake: str
    is_dry_run: bool = False
    recovered: list[str] = field(default_factory=list)
    tables: list[TableMaintenance] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    scratch_files: int = 0
    scratch_bytes: int = 0
    seconds: float = 0.0

    @property
    def findings(self) -> Findings:
        """Return the findings: tables that were not compacted, missing topics, and notes."""
        failed = [table for table in self.tables if table.failure]
        kind = FindingKind.NOT_COMPACTED
        found = Findings(
            Finding(kind, f"{table.table}: {table.failure}", table.table) for table in failed
        )
        found.add_reasons(FindingKind.LEFT_OUT, self.left_out)
        found.add_texts(FindingKind.NOTE, self.notes)
        return found

    @property
    def exit_code(self) -> int:
        """Return 0, or 3 if a person should look at a finding."""
        return self.findings.exit_code

    def to_json(self) -> str:
        """Return the summary as JSON on one line."""
        facts = asdict(self) | self.findings.to_mapping() | {"exit_code": self.exit_code}
        del facts["left_out"], facts["notes"]
        return json.dumps(facts, sort_keys=True)

    def to_text(self) -> str:
        """Return the summary as lines for a terminal, one for each changed table."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += [f"{table.table}: {done}" for table in self.tables if (done := self._done(table))]
        if self.scratch_files:
            scratch = self._deleted(self.scratch_files, self.scratch_bytes)
            lines.append(f"left by replays and probes that died: {scratch}")
        if self.recovered:
            lines.append(f"completed what an earlier run began: {', '.join(self.recovered)}")
        lines += self.findings.lines()
        return as_lines(lines)

    def _headline(self) -> str:
        parts = []
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
