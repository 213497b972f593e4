"""Text of an audit for a person, with the worst problems first and long lists cut."""

from collections import Counter
from collections.abc import Iterator, Mapping

from seglake.findings.advised_commands import HIGHEST_LIMIT, replay_with_highest_limit
from seglake.findings.losing_tails import tail_lines
from seglake.findings.shown_offsets import shown_ranges
from seglake.kafka_log.offset_gaps import NEVER_FILLED, GapCause
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.latest_proof import LatestAudit
from seglake.pipelines.lake_audit.partition_audit import LogMarks, PartitionAudit
from seglake.pipelines.lake_audit.typed_proof import TypedAudit
from seglake.printable import as_lines, show_count
from seglake.segment_codec.formats.errors import DefectCode

_MOST_PARTITIONS = 40
_MOST_RANGES = 5
_MOST_GAPS = 5
_MOST_LINES = 20  # most lines about the lake as a whole
_LABEL_WIDTH = 8
_WIDEST_NAME = 32  # in columns; longer names get a separate line

Line = tuple[str, str]  # label and text


def to_text(audit: LakeAudit, *, is_quiet: bool = False) -> str:
    """Return the audit as lines for a terminal.

    Args:
        audit: the audit to show.
        is_quiet: whether to omit partitions without a problem.
    """
    ordered = sorted(audit.partitions, key=_rank)
    shown = [each for each in ordered[:_MOST_PARTITIONS] if each.problems or not is_quiet]
    counts = Counter(str(partition.partition) for partition in audit.partitions)
    names = [_name(partition, counts) for partition in shown]
    width = max((len(name) for name in names if len(name) <= _WIDEST_NAME), default=2)
    lines = _headlines(audit)
    lines += _cut([f"problem: {text}" for text in audit.problems], _MOST_LINES)
    lines += _cut([f"not erased: {found}" for found in audit.not_erased], _MOST_LINES)
    for each in audit.of_topics:
        lines += _lines_of_topics(each)
    lines += _cut([f"note: {text}" for text in audit.notes], _MOST_LINES)
    if audit.salvaged.batches:
        records = show_count(audit.salvaged.records, "record")
        batches = show_count(audit.salvaged.batches, "quarantined batch", "quarantined batches")
        place = "in salvaged_records (damage: what may be wrong) and nowhere else"
        lines.append(f"salvaged: {records} of {batches}, {place}")
    for name, partition in zip(names, shown, strict=True):
        if len(name) > width:
            lines.append(name)
        for index, (label, text) in enumerate(_lines(partition, audit.lake)):
            first = "" if index or len(name) > width else name
            lines.append(f"{first:<{width}}  {label:<{_LABEL_WIDTH}} {text}".rstrip())
    rest = ordered[_MOST_PARTITIONS:]
    if rest and not is_quiet:
        wrong = sum(bool(partition.problems) for partition in rest)
        verdict = f"{wrong} of them with problems" if wrong else "all explained"
        more = show_count(len(rest), "more partition")
        lines.append(f"and {more}, {verdict} (--json has them all)")
    return as_lines(lines)


def _lines_of_topics(found: TypedAudit | LatestAudit) -> list[str]:
    """Return the lines on typed tables, or on tables of latest state."""
    problems = _cut([f"problem: {each}" for each in found.findings], _MOST_LINES)
    notes = _cut([f"note: {text}" for text in found.notes], _MOST_LINES)
    return [*problems, *notes, found.line()]


def _headlines(audit: LakeAudit) -> list[str]:
    """Return the headlines on proof and recovery.

    The recovery comes first unless an offset is unexplained.
    """
    covered = sum(partition.covered_offsets for partition in audit.partitions)
    wrong = sum(bool(partition.problems) for partition in audit.partitions)
    if audit.is_empty:
        return [f"{audit.lake}: NOTHING WAS INGESTED, so nothing is proved"]
    count = show_count(len(audit.partitions), "partition")
    recovery = audit.recovery
    rest = [*recovery.lines(), *tail_lines(recovery.tails, audit.lake)]
    if audit.problem_count:
        places = [f"{wrong} of {count}"] if wrong else []
        places += ["the lake as a whole"] if audit.problems else []
        places += ["the typed tables"] if audit.typed is not None and audit.typed.findings else []
        is_state_wrong = audit.latest is not None and audit.latest.findings
        places += ["the tables of latest state"] if is_state_wrong else []
        verdict = f"{audit.lake}: NOT EXPLAINED: see {' and '.join(places)}"
        return [verdict, recovery.headline, *rest]
    offsets = show_count(covered, "offset")
    proof = f"proof: each of {offsets} covered in {count} has a record or a recorded cause"
    unfinished = "AN ERASURE HAS NOT ENDED; " if audit.not_erased else ""
    return [f"{audit.lake}: {unfinished}{recovery.headline}", proof, *rest]


def _rank(audit: PartitionAudit) -> tuple[int, int, int, str, int]:
    return (
        -len(audit.problems),
        -sum(count.offsets for cause, count in audit.gaps.items() if cause not in NEVER_FILLED),
        -(audit.left is not None),
        audit.partition.key.topic,
        audit.partition.key.partition,
    )


def _name(audit: PartitionAudit, counts: Mapping[str, int]) -> str:
    """Return a partition's name, with topic id and source if the name occurs twice."""
    name, (source_id, key) = str(audit.partition), audit.partition
    return f"{name} ({key.topic_id or 'no id'} of {source_id})" if counts[name] > 1 else name


def _lines(audit: PartitionAudit, lake: str) -> Iterator[Line]:
    yield "covered", f"{shown_ranges(audit.covered, _MOST_RANGES) or 'nothing'}: {_equation(audit)}"
    for problem in audit.problems:
        yield "PROBLEM", problem.text.removeprefix(f"{problem.place}: ")
    if audit.gaps:
        counts = (
            f"{count.gaps} {cause} ({show_count(count.offsets, 'offset')})"
            for cause, count in sorted(audit.gaps.items())
        )
        yield "gaps", ", ".join(counts)
        for line in _gap_lines(audit):
            yield "", line
    if audit.quarantine.by_code:
        counts = (
            f"{count.spans} {code} ({show_count(count.size_bytes, 'byte')})"
            for code, count in sorted(audit.quarantine.by_code.items())
        )
        resolved = audit.quarantine.resolved
        yield "damage", ", ".join(counts) + (f"; {resolved} repaired" if resolved else "")
        has_gap = GapCause.QUARANTINED in audit.gaps
        if has_gap and DefectCode.DECOMPRESSION_LIMIT in audit.quarantine.by_code:
            command = replay_with_highest_limit(lake)
            yield "", f"above limits.max_decompressed_batch_bytes, up to {HIGHEST_LIMIT}: {command}"
    if audit.refilled.batches:
        records = show_count(audit.refilled.records, "record")
        yield (
            "refilled",
            f"{records} that were compacted in the first copy, or undecided at first",
        )
    for rows in audit.open_transactions[:_MOST_GAPS]:
        records = show_count(rows.records, "record")
        name = f"producer {rows.producer_id}'s transaction from offset {rows.first_offset} on"
        yield "open", f"{name} has not ended: {records} marked open"
    if len(audit.open_transactions) > _MOST_GAPS:
        yield "", f"and {len(audit.open_transactions) - _MOST_GAPS} more"
    if audit.superseded.records or audit.superseded.batches:
        records = show_count(audit.superseded.records, "superseded record")
        batches = show_count(audit.superseded.batches, "batch", "batches")
        yield "history", f"{records} in {batches}"
    if audit.marks is not None:
        yield "log", _marks(audit.marks, _first_local(audit))
    if audit.left is not None:
        count = audit.left.next_offset - audit.left.start_offset
        span = f"[{audit.left.start_offset}, {audit.left.next_offset})"
        yield "left", f"{show_count(count, 'offset')} above, {span}: {audit.left.reason}"
    if audit.not_covered:
        ranges = shown_ranges(audit.not_covered, _MOST_RANGES)
        yield "skipped", f"{ranges} between or below what is covered"


def _equation(audit: PartitionAudit) -> str:
    totals = audit.totals
    parts = (
        (totals.records, "record" if totals.records == 1 else "records"),
        (totals.other_span, "in control, aborted or empty batches"),
        (totals.lacking, "lacking in other batches"),
        (totals.gap_span, "in gaps"),
    )
    sign = "=" if totals.accounted == audit.covered_offsets else "is not"
    added = " + ".join(f"{count} {what}" for count, what in parts if count) or "0 records"
    return f"{show_count(audit.covered_offsets, 'offset')} {sign} {added}"


def _gap_lines(audit: PartitionAudit) -> Iterator[str]:
    """Yield lines on gaps; gaps that no repair fills are counted, but not listed."""
    shown = [gap for gap in audit.shown_gaps if gap.cause not in NEVER_FILLED][:_MOST_GAPS]
    for gap in shown:
        evidence = f": {gap.evidence}" if gap.evidence else ""
        yield f"[{gap.start_offset}, {gap.next_offset}) {gap.cause}{evidence}"
    counted = sum(count.gaps for cause, count in audit.gaps.items() if cause not in NEVER_FILLED)
    if counted > len(shown):
        yield f"and {counted - len(shown)} more"


def _first_local(audit: PartitionAudit) -> int | None:
    """Return the first offset that is not only in a remote tier; None if unknown."""
    start = None if audit.marks is None else audit.marks.log_start_offset
    remote = audit.gaps.get(GapCause.REMOTE)
    ranges = {} if remote is None else dict(remote.ranges)
    return start if start is None else ranges.get(start, start)


def _marks(marks: LogMarks, first_local: int | None) -> str:
    start = marks.log_start_offset
    known = {
        "log start": start,
        **({} if first_local == start else {"first local offset": first_local}),
        "high watermark": marks.high_watermark,
        "last stable offset": marks.last_stable_offset,
        "log end": marks.log_end_offset,
    }
    return ", ".join(
        f"{name} {'unknown' if value is None else value}" for name, value in known.items()
    )


def _cut(lines: list[str], most: int) -> list[str]:
    rest = len(lines) - most
    return [*lines[:most], f"and {rest} more"] if rest > 0 else lines
