"""Contents as lines for a person: one line for each batch, in columns."""

from typing import TextIO

from seglake.findings.findings import Finding
from seglake.pipelines.segment_inspect import contents
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound
from seglake.pipelines.segment_inspect.findings import (
    defect_text,
    finding_of,
    hole_text,
    tail_text,
)
from seglake.pipelines.segment_inspect.path_kinds import FOLDER_KINDS, SEGMENT_KINDS, PathKind
from seglake.pipelines.segment_inspect.text_forms import (
    counts_text,
    entry_text,
    flags_text,
    offsets_text,
    producer_text,
    record_text,
    time_text,
)
from seglake.printable import on_one_line, show_count

_COLUMNS = "{:>12}  {:<21} {:>8}  {:<6} {:>9}  {:<24}  {:<14}  {:<8}  {}"
_HEADINGS = _COLUMNS.format(
    *("position", "offsets", "records", "codec", "bytes", "newest record", "producer", "state"),
    "more",
)
_BRIEF = "  {:<40} {:>8} {:>14} {:>9} {:>11}  {:<23} {:>14}  {}"
_BRIEF_HEADINGS = _BRIEF.format(
    *("partition", "segments", "bytes", "batches", "records", "offsets", "high watermark"), "state"
)
_MOST_BRIEF_DEFECTS = 20


class TextReport:
    """Writer of an inspection's contents as lines for a person."""

    def __init__(self, out: TextIO, *, with_payload: bool) -> None:
        """Prepare the writer.

        Args:
            out: stream to write to, without delay; it stays open. Unprintable characters are
                escaped.
            with_payload: whether to write keys, values and headers; if not, only summaries and
                damage of a log dir's partition folders are shown.
        """
        self._out = out
        self._with_payload = with_payload
        self._is_brief = False
        self._is_in_partition = False
        self._has_headings = False
        self._has_lines = False
        # Findings on the current folder or file that have no line yet.
        self._findings: list[Finding] = []
        self._kept: list[str] = []
        self._left_out = 0
        self._lost_offsets = 0
        self._removed: list[contents.FileFound] = []

    def show(self, content: contents.Content) -> None:
        """Write the lines for the next item."""
        if self._is_brief and self._is_in_partition:
            self._keep(content)
        match content:
            case Finding():
                self._findings.append(content)
            case contents.FileFound():
                self._file(content)
            case BatchFound():
                self._batch(content)
            case contents.HoleFound():
                self._hole(content)
            case DefectFound():
                self._defect(content)
            case contents.TailFound():
                self._tail(content)
            case contents.RecordFound():
                text = record_text(content.record, with_payload=self._with_payload)
                self._line(f"{'':>14}{text}")
            case contents.EntryFound():
                self._line(f"  {entry_text(content.fields)}")
            case contents.SideFileSummary():
                self._finding_lines("  ")  # the file's line has the other facts
            case contents.LogSummary():
                if self._is_brief and content.kind is PathKind.PARTITION_FOLDER:
                    self._brief_summary(content)
                else:
                    self._log_summary(content)

    def _file(self, found: contents.FileFound) -> None:
        """Write a line for a file; lines for a segment's batches follow."""
        if found.kind is PathKind.LOG_DIR:
            self._is_brief = not self._with_payload
            self._is_in_partition = False
            if self._has_lines:
                self._line()
        if found.kind is PathKind.PARTITION_FOLDER:
            self._is_in_partition = True
        if self._is_brief and self._is_in_partition:
            if found.is_removed_segment:
                self._removed.append(found)
            return
        self._has_headings = False
        if found.kind in FOLDER_KINDS:
            self._line(f"{found.kind.replace('_', ' ')} {found.path}")
        elif found.kind in SEGMENT_KINDS and found.skipped is None:
            if self._has_lines:
                self._line()
            self._line(f"{found.kind} {found.path}  {found.size_bytes} bytes")
        else:
            self._line(f"  {found.name:<40} {_file_facts(found)}")

    def _batch(self, found: BatchFound) -> None:
        """Write a line for a batch; for a damaged batch, with its header's claims."""
        if self._is_brief:
            return
        self._headings(_HEADINGS)
        self._line(
            _COLUMNS.format(
                found.unit.position,
                offsets_text(found),
                "?" if found.record_count is None else found.record_count,
                found.codec or "?",
                found.unit.size_bytes,
                time_text(found.header.max_timestamp_ms),
                producer_text(found),
                "DAMAGED" if found.decoded is None else "valid",
                ", ".join([flags_text(found), *found.marks]),
            ).rstrip()
        )

    def _hole(self, found: contents.HoleFound) -> None:
        if not self._is_brief:
            self._headings(_HEADINGS)
            self._line(f"{'':>12}  {hole_text(found)}")
        elif not found.is_explained:
            self._lost_offsets += found.next_offset - found.start_offset

    def _defect(self, found: DefectFound) -> None:
        if not self._is_brief:
            defect = found.defect
            self._line(f"{defect.position:>12}  ! {defect.size_bytes} bytes {defect_text(found)}")

    def _tail(self, found: contents.TailFound) -> None:
        if not self._is_brief:
            self._line(f"{found.tail.position:>12}  ~ {tail_text(found)}")

    def _headings(self, line: str) -> None:
        if not self._has_headings:
            self._line(line)
            self._has_headings = True

    def _brief_summary(self, found: contents.LogSummary) -> None:
        self._headings(_BRIEF_HEADINGS)
        totals = found.totals
        offsets = "-"
        if totals.first_offset is not None and totals.next_offset is not None:
            offsets = f"{totals.first_offset}-{totals.next_offset - 1}"
        # Batches that are out of order fill holes, so the smaller number counts.
        lost = min(self._lost_offsets, totals.offsets_not_there)
        state = "valid" if totals.segments or found.unread_segments else "-"
        if totals.defects:
            state = f"DAMAGED: {counts_text(totals.defects)}"
        if lost:
            missing = f"MISSING: {show_count(lost, 'offset')}"
            state = f"{state}, {missing}" if totals.defects else missing
        if found.unread_segments:
            unread = f"NOT READ: {show_count(found.unread_segments, 'segment')}"
            state = unread if state == "valid" else f"{state}, {unread}"
        if totals.tails:
            ends = counts_text(totals.tails)
            state = ends if state == "valid" and totals.has_torn_end else f"{state}, {ends}"
        self._line(
            _BRIEF.format(
                found.path.rsplit("/", 1)[-1],
                totals.segments,
                totals.size_bytes,
                totals.batches,
                totals.records,
                offsets,
                "-" if found.high_watermark is None else found.high_watermark,
                state,
            )
        )
        for line in self._kept:
            self._line(f"      {line}")
        self._finding_lines("      ")
        if self._left_out:
            self._line(f"      and {self._left_out} more: inspect the folder itself")
        if self._removed:
            size_bytes = sum(file.size_bytes for file in self._removed)
            removed = show_count(len(self._removed), "segment")
            self._line(
                f"      {removed} that the broker had removed, {size_bytes} bytes: an ingest does "
                f"not read {self._removed[0].name}{', …' if len(self._removed) > 1 else ''}"
            )
        self._kept, self._left_out, self._lost_offsets, self._removed = [], 0, 0, []

    def _log_summary(self, found: contents.LogSummary) -> None:
        totals = found.totals
        self._line()
        self._line(f"summary of {found.path}")
        self._fact("segments", f"{totals.segments}, {totals.size_bytes} bytes")
        controls = f", {totals.control_batches} of them control" if totals.control_batches else ""
        self._fact("batches", f"{totals.batches} valid{controls}, {totals.sound_bytes} bytes")
        self._fact("records", str(totals.records))
        if totals.first_offset is not None and totals.next_offset is not None:
            last = totals.next_offset - 1
            self._fact("offsets", f"{totals.first_offset} to {last}, next {totals.next_offset}")
        if totals.offsets_not_there:
            self._fact("not there", f"{totals.offsets_not_there} offsets between valid batches")
        if totals.newest_timestamp_ms is not None:
            self._fact("newest", time_text(totals.newest_timestamp_ms))
        self._fact("codecs", counts_text(totals.codecs))
        if found.log_start_offset is not None:
            self._fact("log start", f"{found.log_start_offset}")
        if found.high_watermark is not None:
            self._fact("high water", f"{found.high_watermark}")
        defects = f"{counts_text(totals.defects)}, {totals.defect_bytes} bytes"
        none = "none before the torn end" if totals.has_torn_end else "none"
        self._fact("defects", defects if totals.defects else none)
        if totals.tails:
            self._fact("tail", f"{counts_text(totals.tails)}, {totals.tail_bytes} bytes")
        self._finding_lines("  ")

    def _finding_lines(self, indent: str) -> None:
        """Write the findings that have no line yet, the most urgent first."""
        for finding in sorted(self._findings, key=lambda found: found.rank):
            self._line(f"{indent}{finding.kind.label}: {finding.text}")
        self._findings.clear()

    def _fact(self, name: str, text: str) -> None:
        self._line(f"  {name:<11}{text}")

    def _keep(self, content: contents.Content) -> None:
        """Store the finding on an item, to write it after the line of the partition."""
        finding = None if isinstance(content, Finding) else finding_of(content)
        if finding is None:
            return
        if len(self._kept) < _MOST_BRIEF_DEFECTS:
            self._kept.append(finding.text)
        else:
            self._left_out += 1

    def _line(self, text: str = "") -> None:
        self._out.write(on_one_line(text) + "\n")
        self._has_lines = True


def _file_facts(found: contents.FileFound) -> str:
    facts = [f"{found.size_bytes} bytes"]
    if found.entry_count is not None:
        facts.append(show_count(found.entry_count, "entry", "entries"))
    if found.damage is not None:
        facts.append(f"DAMAGED: {found.damage}")
    if found.skipped is not None:
        facts.append(f"skipped: {found.skipped}")
    if found.kind is PathKind.UNKNOWN:
        facts.append("not inspected")
    return ", ".join(facts)
