"""Findings as lines for a person: a batch is one line, and its columns stand under each other."""

from typing import TextIO

from seglake.pipelines.segment_inspect.findings import (
    BatchFound,
    DefectFound,
    FileFound,
    LogSummary,
    RecordFound,
    SearchSummary,
    SideFileSummary,
    Summary,
    TailFound,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.text_forms import (
    counts_text,
    entries_text,
    entry_text,
    flags_text,
    name_text,
    offsets_text,
    producer_text,
    record_text,
    time_text,
)

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
_SEGMENTS = (PathKind.LOG, PathKind.KRAFT_SNAPSHOT)


class TextReport:
    """Writes lines for a person.

    Args:
        out: borrowed; written to as findings come. What its encoding lacks is escaped.
        with_payload: keys, values and headers too.
        is_brief: of partition folders only their summaries and their damage.
    """

    def __init__(self, out: TextIO, *, with_payload: bool, is_brief: bool) -> None:
        self._out = out
        self._encoding = getattr(out, "encoding", None) or "utf-8"
        self._with_payload = with_payload
        self._is_brief = is_brief
        self._is_in_partition = False
        self._has_brief_headings = False
        self._has_headings = False
        self._has_lines = False
        self._kept: list[str] = []
        self._left_out = 0

    def file(self, found: FileFound) -> None:
        """A line for the file; a segment's batches follow under it."""
        if found.kind is PathKind.PARTITION_FOLDER:
            self._is_in_partition = True
        if self._is_brief and self._is_in_partition:
            if found.damage is not None:
                name = found.path.rsplit("/", 1)[-1]
                self._keep(f"{name}: {found.damage}")
            return
        self._has_headings = False
        if found.kind in (PathKind.PARTITION_FOLDER, PathKind.LOG_DIR):
            what = "partition folder" if found.kind is PathKind.PARTITION_FOLDER else "log dir"
            self._line(f"{what} {found.path}")
        elif found.kind in _SEGMENTS and found.skipped is None:
            if self._has_lines:
                self._line()
            self._line(f"{found.kind} {found.path}  {found.size_bytes} bytes")
        else:
            self._line(f"  {found.path.rsplit('/', 1)[-1]:<40} {_file_facts(found)}")

    def batch(self, found: BatchFound, marks: tuple[str, ...]) -> None:
        """One line; a damaged batch shows what its header claims."""
        if self._is_brief:
            return
        self._headings()
        more = [flags_text(found), *marks]
        self._line(
            _COLUMNS.format(
                found.position,
                offsets_text(found),
                "?" if found.record_count is None else found.record_count,
                found.codec or "?",
                found.size_bytes,
                time_text(found.max_timestamp_ms),
                producer_text(found),
                "valid" if found.valid else "DAMAGED",
                ", ".join(more),
            ).rstrip()
        )

    def hole(self, start_offset: int, next_offset: int) -> None:
        """Offsets that are not there, before the next batch."""
        if not self._is_brief:
            self._headings()
            last = next_offset - 1
            what = f"{start_offset}" if last == start_offset else f"{start_offset}-{last}"
            self._line(f"{'':>12}  {what}: not there")

    def defect(self, found: DefectFound) -> None:
        """Two lines at most: the place and code, and between which offsets it lies."""
        place = f"{found.position}, {found.length_bytes} bytes"
        line = f"{found.defect_code}: {found.defect_detail}{_lies_text(found)}"
        if self._is_brief:
            self._keep(f"{found.segment} at {place}: {line}")
        else:
            self._line(f"{found.position:>12}  ! {found.length_bytes} bytes {line}")

    def tail(self, found: TailFound) -> None:
        """The end of a file."""
        line = f"{found.kind}: {found.size_bytes} bytes to the end of the file"
        if self._is_brief:
            self._keep(f"{found.segment} at {found.position}: {line}")
        else:
            self._line(f"{found.position:>12}  ~ {line}")

    def record(self, found: RecordFound) -> None:
        """A record, under its batch."""
        self._line(f"{'':>14}{record_text(found, with_payload=self._with_payload)}")

    def entry(self, fields: dict[str, object]) -> None:
        """An entry, as names and values."""
        self._line(f"  {entry_text(fields)}")

    def summary(self, found: Summary) -> None:
        """The end of a look."""
        match found:
            case SideFileSummary():
                self._line(f"  {entries_text(found.entry_count)}, {found.size_bytes} bytes")
                if found.damage is not None:
                    self._line(f"  DAMAGED: {found.damage}")
            case SearchSummary():
                self._search_summary(found)
            case LogSummary():
                if self._is_brief and found.kind is PathKind.PARTITION_FOLDER:
                    self._brief_summary(found)
                else:
                    self._log_summary(found)

    def _headings(self) -> None:
        if not self._has_headings:
            self._line(_HEADINGS)
            self._has_headings = True

    def _search_summary(self, found: SearchSummary) -> None:
        self._line()
        if found.index_position is None:
            self._line(f"offset {found.offset}: no index entry, read from position 0")
        else:
            entry = f"offset {found.index_offset}, position {found.index_position}"
            self._line(f"offset {found.offset}: index entry {entry}")
        if found.batch_position is None:
            self._line(f"  NOT FOUND after {found.walked_batches} other batches")
        else:
            found_text = "found" if found.found else "NOT FOUND"
            self._line(
                f"  {found_text} in {found.segment} at position {found.batch_position}, after "
                f"{found.walked_batches} other batches"
            )
        self._notes(found.notes)

    def _brief_summary(self, found: LogSummary) -> None:
        if not self._has_brief_headings:
            self._line(_BRIEF_HEADINGS)
            self._has_brief_headings = True
        offsets = "-"
        if found.first_offset is not None and found.next_offset is not None:
            offsets = f"{found.first_offset}-{found.next_offset - 1}"
        high_watermark = "-" if found.high_watermark is None else found.high_watermark
        state = f"DAMAGED: {counts_text(found.defects)}" if found.defects else "valid"
        if found.tails:
            state = f"{state}, {counts_text(found.tails)}"
        self._line(
            _BRIEF.format(
                found.path.rsplit("/", 1)[-1],
                found.segments,
                found.size_bytes,
                found.batches,
                found.records,
                offsets,
                high_watermark,
                state,
            )
        )
        for line in (*self._kept, *found.notes):
            self._line(f"      {line}")
        if self._left_out:
            self._line(f"      and {self._left_out} more: look into the folder itself")
        self._kept, self._left_out = [], 0

    def _log_summary(self, found: LogSummary) -> None:
        self._line()
        self._line(f"summary of {found.path}")
        self._fact("segments", f"{found.segments}, {found.size_bytes} bytes")
        controls = f", {found.control_batches} of them control" if found.control_batches else ""
        self._fact("batches", f"{found.batches} valid{controls}, {found.sound_bytes} bytes")
        self._fact("records", str(found.records))
        if found.first_offset is not None and found.next_offset is not None:
            offsets = f"{found.first_offset} to {found.next_offset - 1}, next {found.next_offset}"
            self._fact("offsets", offsets)
        if found.offsets_not_there:
            self._fact("not there", f"{found.offsets_not_there} offsets between valid batches")
        if found.newest_timestamp_ms is not None:
            self._fact("newest", time_text(found.newest_timestamp_ms))
        self._fact("codecs", counts_text(found.codecs))
        if found.log_start_offset is not None:
            self._fact("log start", f"{found.log_start_offset}")
        if found.high_watermark is not None:
            self._fact("high water", f"{found.high_watermark}")
        defects = f"{counts_text(found.defects)}, {found.defect_bytes} bytes"
        self._fact("defects", defects if found.defects else "none")
        if found.tails:
            self._fact("tail", f"{counts_text(found.tails)}, {found.tail_bytes} bytes")
        self._notes(found.notes)

    def _notes(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            self._fact("note", note)

    def _fact(self, name: str, text: str) -> None:
        self._line(f"  {name:<11}{text}")

    def _keep(self, line: str) -> None:
        """Keep a line for under the partition's own, which comes last."""
        if len(self._kept) < _MOST_BRIEF_DEFECTS:
            self._kept.append(line)
        else:
            self._left_out += 1

    def _line(self, text: str = "") -> None:
        safe = name_text(text).encode(self._encoding, errors="backslashreplace")
        self._out.write(safe.decode(self._encoding) + "\n")
        self._has_lines = True


def _file_facts(found: FileFound) -> str:
    facts = [f"{found.size_bytes} bytes"]
    if found.entry_count is not None:
        facts.append(entries_text(found.entry_count))
    if found.damage is not None:
        facts.append(f"DAMAGED: {found.damage}")
    if found.skipped is not None:
        facts.append(f"passed over: {found.skipped}")
    if found.kind is PathKind.UNKNOWN:
        facts.append("not looked into")
    return ", ".join(facts)


def _lies_text(found: DefectFound) -> str:
    before, after = found.previous_offset, found.next_offset
    if before is not None and after is not None:
        return f"; between offsets {before} and {after}"
    if before is not None:
        return f"; behind offset {before}"
    return "" if after is None else f"; before offset {after}"
