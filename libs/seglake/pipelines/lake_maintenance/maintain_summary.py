"""What a maintenance did, for a person and for a machine. Pure."""

import json
from dataclasses import asdict, dataclass, field

from seglake.errors import ExitCode
from seglake.pipelines.progress import show_count
from seglake.pipelines.progress_views import show_bytes
from seglake.printable import as_lines


@dataclass(slots=True)
class TableMaintenance:
    """What became of one table.

    Attributes:
        files_before, files_after: data files that the newest version names.
        merged_files: so many of them became fewer.
        deleted_files: those that no version needs any more, and those of dead runs.
        failure: why it was not compacted; empty if it was, or need not be.
    """

    table: str
    files_before: int
    bytes_before: int
    files_after: int = 0
    bytes_after: int = 0
    merged_files: int = 0
    deleted_files: int = 0
    failure: str = ""


@dataclass(slots=True)
class MaintainSummary:
    """What was done to each table.

    Attributes:
        recovered: topics that a run which died had begun to commit; they are complete now.
    """

    run_id: str
    lake: str
    is_dry_run: bool = False
    recovered: list[str] = field(default_factory=list)
    tables: list[TableMaintenance] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return ExitCode.LOOK if any(table.failure for table in self.tables) else ExitCode.DONE

    def to_json(self) -> str:
        """One line."""
        return json.dumps({**asdict(self), "exit_code": self.exit_code}, sort_keys=True)

    def to_text(self) -> str:
        """A line for each table that something was done to."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        for table in self.tables:
            done = []
            if table.merged_files:
                done.append(
                    f"{show_count(table.files_before, 'file')} of {show_bytes(table.bytes_before)}"
                    f" {'would become' if self.is_dry_run else 'became'} {self._after(table)}"
                )
            if table.deleted_files:
                would = "would be " if self.is_dry_run else ""
                done.append(f"{show_count(table.deleted_files, 'old file')} {would}deleted")
            if table.failure:
                done.append(f"not compacted, the next maintenance tries again: {table.failure}")
            if done:
                lines.append(f"{table.table}: {'; '.join(done)}")
        if self.recovered:
            lines.append(f"completed what an earlier run began: {', '.join(self.recovered)}")
        lines += [f"note: {note}" for note in self.notes]
        return as_lines(lines)

    def _after(self, table: TableMaintenance) -> str:
        if self.is_dry_run:
            return str(table.files_after)
        return f"{table.files_after} of {show_bytes(table.bytes_after)}"

    def _headline(self) -> str:
        merged = sum(table.merged_files for table in self.tables)
        deleted = sum(table.deleted_files for table in self.tables)
        if not merged and not deleted:
            return "nothing to compact, nothing to delete"
        before = sum(table.files_before for table in self.tables)
        after = sum(table.files_after for table in self.tables)
        if self.is_dry_run:
            return f"dry run: {before} files would become {after}; nothing was changed"
        return f"{show_count(before, 'file')} became {after}"
