"""Report on the comparison with the disks, for a person and for programs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import shown_ranges
from seglake.grouping import grouped
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck
from seglake.pipelines.lake_audit.disk_check.disk_check_task import PieceReport, Places
from seglake.printable import as_lines, show_count
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

_MOST_COPIES = 40
_MOST_RANGES = 3


def exit_code(checks: Iterable[CopyCheck]) -> int:
    """Return 3 if a record differs without an explanation, or could not be compared; else 0."""
    return Findings(findings(checks)).exit_code


def findings(checks: Iterable[CopyCheck]) -> Iterator[Finding]:
    """Yield a finding for each replica with a difference, or that could not be compared."""
    for check in checks:
        if problems := [*_problems(check)]:
            text = f"{check.partition} in {check.folder}: {'; '.join(problems)}"
            facts = {"folder": check.folder}
            yield Finding(FindingKind.DISK_DIFFERS, text, check.partition, facts=facts)


# Any: the types that JSON can hold.
def to_mapping(checks: Sequence[CopyCheck]) -> dict[str, Any]:
    """Return the checks as a mapping for JSON."""
    return {"copies": [_copy(check) for check in checks]}


def _copy(check: CopyCheck) -> Mapping[str, Any]:
    report = check.report
    return {
        "partition": check.partition,
        "folder": check.folder,
        "broker_id": check.broker_id,
        "equal": report.equal,
        "different": report.different._asdict(),
        "explained_differences": report.explained_differences,
        "only_on_disk": report.only_on_disk._asdict(),
        "left_out": report.left_out,
        "only_in_lake": check.only_in_lake,
        "not_ingested": [list(offsets) for offsets in check.not_ingested],
        "superseded": [list(offsets) for offsets in check.superseded],
        "damaged_spans": report.damaged_spans,
        "not_compared": [each._asdict() for each in report.failures],
        "failures": [*check.failures, *_failures(report)],
    }


def to_text(checks: Sequence[CopyCheck], *, is_quiet: bool = False) -> str:
    """Return the checks as lines for a terminal, the worst first.

    Args:
        checks: one for each replica.
        is_quiet: whether to omit replicas without a problem.
    """
    listed = [check for check in checks if check.has_problem or not is_quiet]
    ordered = sorted(listed, key=lambda check: (not check.has_problem, check.partition))
    shown = ordered[:_MOST_COPIES]
    counts = Counter(check.partition for check in checks)
    names = [
        f"{check.partition} in {check.folder}" if counts[check.partition] > 1 else check.partition
        for check in shown
    ]
    width = max(map(len, names), default=0)
    lines = [_headline(checks)]
    for name, check in zip(names, shown, strict=True):
        for index, text in enumerate(_lines(check)):
            lines.append(f"{'' if index else name:<{width}}  {text}")
    rest = ordered[_MOST_COPIES:]
    if rest:
        wrong = sum(check.has_problem for check in rest)
        verdict = f"{wrong} of them with problems" if wrong else "none with a problem"
        more = show_count(len(rest), "more replica")
        lines.append(f"and {more}, {verdict} (--json has them all)")
    return as_lines(lines)


def _headline(checks: Sequence[CopyCheck]) -> str:
    equal = sum(check.report.equal for check in checks)
    wrong = sum(check.has_problem for check in checks)
    copies = show_count(len(checks), "copy", "copies")
    compared = f"compared with {copies} on disk: {_equal(equal)}"
    if wrong:
        return f"{compared}; NOT EXPLAINED: see {wrong} of them"
    rest = [*_not_equal(checks)] or ["nothing differs" if equal else "no record to compare"]
    return ", ".join([compared, *rest])


def _equal(count: int) -> str:
    return show_count(count, "record is equal", "records are equal")


def _not_equal(checks: Sequence[CopyCheck]) -> Iterator[str]:
    """Yield lines on all records that differ between disk and lake."""
    reports = [check.report for check in checks]
    different = sum(report.explained_differences.total() for report in reports)
    on_disk = sum(report.left_out.total() for report in reports)
    ranges = [offsets for check in checks for offsets in check.not_ingested]
    left = sum(stop - start for start, stop in ranges)
    for count, what in (
        (different, "differs, explained" if different == 1 else "differ, each explained"),
        (on_disk, f"on the disk only, {'explained' if on_disk == 1 else 'each explained'}"),
        (sum(check.only_in_lake for check in checks), "in the lake only"),
        (left, "offset not ingested yet" if left == 1 else "offsets not ingested yet"),
    ):
        if count:
            yield f"{count} {what}"
    damaged = sum(report.damaged_spans for report in reports)
    if damaged:
        yield f"{show_count(damaged, 'damaged span')} not compared"


def _lines(check: CopyCheck) -> Iterator[str]:
    report = check.report
    facts = [_equal(report.equal)]
    facts += [
        f"{show_count(count, 'differs', 'differ')}, {reason}"
        for reason, count in sorted(report.explained_differences.items())
    ]
    facts += [
        f"{count} on the disk only, {reason}" for reason, count in sorted(report.left_out.items())
    ]
    if check.only_in_lake:
        is_whole = not (check.failures or report.failures)
        what = "in the lake only" if is_whole else "in the lake not compared, or in the lake only"
        facts.append(f"{check.only_in_lake} {what}")
    if report.damaged_spans:
        facts.append(show_count(report.damaged_spans, "damaged span"))
    yield ", ".join(facts)
    for problem in _problems(check):
        yield f"PROBLEM  {problem}"
    if check.not_ingested:
        yield _not_ingested(check.not_ingested, check.high_watermark)


def _problems(check: CopyCheck) -> Iterator[str]:
    report = check.report
    if report.different.records:
        yield f"not as in the lake: {_places(report.different)}"
    if report.only_on_disk.records:
        yield f"on the disk, and not in the lake: {_places(report.only_on_disk)}"
    for failure in (*check.failures, *_failures(report)):
        yield f"not compared: {failure}"
    if check.superseded:
        shown = shown_ranges(check.superseded)
        yield f"not compared: the lake's rows lost an election, {shown}"


def _failures(report: PieceReport) -> Iterator[str]:
    """Yield the offsets that could not be read, by reason."""
    reasons = grouped((each.reason, each) for each in report.failures)
    for reason, found in reasons.items():
        ends = ((each.start_offset, each.next_offset or OFFSET_MAX) for each in found)
        shown = shown_ranges(merged(ends), _MOST_RANGES).replace(f"{OFFSET_MAX})", "the log's end)")
        yield f"{reason}, offsets {shown}"


def _places(places: Places) -> str:
    rest = places.records - len(places.first_offsets)
    more = f" and {rest} more" if rest else ""
    records = show_count(places.records, "record")
    return f"{records} at offset {', '.join(map(str, places.first_offsets))}{more}"


def _not_ingested(ranges: Sequence[OffsetRange], high_watermark: int | None) -> str:
    count = sum(stop - start for start, stop in ranges)
    shown = shown_ranges(ranges, _MOST_RANGES)
    above = high_watermark is not None and ranges[0][0] >= high_watermark
    why = (
        f"above the high watermark {high_watermark}"
        if above
        else "an ingest of this topic without a time window reads them, or gives the reason"
    )
    offsets = show_count(count, "offset is", "offsets are")
    return f"{offsets} not ingested yet, {shown}: {why}"
