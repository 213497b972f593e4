"""Writes gauges of the last run to a file for node_exporter's textfile collector.

Each value is a gauge of the last run, because counters would begin at 0 with each run. The time of
the last success is copied from the previous file, so it survives failures.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile
from prometheus_client.parser import text_string_to_metric_families

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.run_records.run_record import RunEnd, RunStart

_LAST_SUCCESS = "seglake_last_success_timestamp_seconds"
_COUNTS = {
    "partitions": "Partitions of the run.",
    "partitions_with_news": "Partitions with something to ingest.",
    "records": "Records added to the tables, or decoded; for an audit, records in the tables.",
    "typed_rows": "Rows added to typed tables.",
    "standing_rejects": "Keys and values that do not decode, of all runs.",
    "batches": "Batches added to the tables.",
    "read_bytes": "Bytes read from the segments.",
    "written_bytes": "Bytes of the data files committed.",
    "quarantined": "Spans of damaged bytes quarantined.",
    "quarantined_bytes": "Damaged bytes quarantined.",
    "missing_offsets": "Offsets that are missing without a cause.",
    "repaired_gaps": "Gaps filled.",
    "repaired_records": "Records that filled gaps.",
    "covered_offsets": "Offsets that the lake covers.",
    "left_offsets": "Offsets in gaps that are not filled.",
}


class _Sample(NamedTuple):
    name: str
    help: str
    value: float
    # this sample's labels, besides the labels of all samples
    labels: Mapping[str, str] = {}


class MetricsFile:
    """Recorder that replaces the metrics file in one step when a run ends."""

    def __init__(self, path: str, report: Callable[[str], None]) -> None:
        """Check that the file can be written.

        Args:
            path: the metrics file.
            report: receives a notice if the file could not be written.

        Raises:
            WrongCallError: the path does not name a file in an existing folder.
        """
        self._path = Path(path).resolve() if Path(path).is_symlink() else Path(path)
        self._report = report
        if not self._path.parent.is_dir() or self._path.is_dir():
            raise WrongCallError(f"--metrics {path} must name a file in an existing folder")

    def begin(self, start: RunStart) -> None:
        """Do nothing: the previous run's file is kept until this run ends."""

    def end(self, start: RunStart, end: RunEnd) -> None:
        """Replace the file by this run's metrics."""
        common = {"command": start.command, "lake": start.lake}
        registry = CollectorRegistry()
        gauges: dict[str, Gauge] = {}
        for sample in _samples(end, self._last_success(common)):
            if sample.name not in gauges:
                labels = (*common, *sample.labels)
                gauges[sample.name] = Gauge(sample.name, sample.help, labels, registry=registry)
            gauges[sample.name].labels(**common, **sample.labels).set(sample.value)
        try:
            write_to_textfile(str(self._path), registry)
        except OSError as error:
            self._report(f"the metrics could not be written to {self._path}: {error.strerror}")

    def _last_success(self, labels: Mapping[str, str]) -> float | None:
        """Return this command's and lake's last success in the previous file; None without one."""
        try:
            families = [*text_string_to_metric_families(self._path.read_text("utf-8"))]
        except (OSError, ValueError):
            return None
        samples = [sample for family in families for sample in family.samples]
        return next(
            (s.value for s in samples if s.name == _LAST_SUCCESS and s.labels == labels), None
        )


def _samples(end: RunEnd, last_success: float | None) -> Iterator[_Sample]:
    now = time.time()
    last = "seglake_last_run"
    yield _Sample(f"{last}_timestamp_seconds", "When the last run ended.", now)
    yield _Sample(f"{last}_duration_seconds", "How long the last run took.", end.seconds)
    yield _Sample(f"{last}_exit_code", "Exit code of the last run.", end.exit_code)
    yield _Sample(f"{last}_success", "1 if the last run is done (exit code 0 or 3).", end.is_done)
    success = now if end.is_done else last_success
    if success is not None:
        yield _Sample(_LAST_SUCCESS, "When a run last ended with exit code 0 or 3.", success)
    for key, text in _COUNTS.items():
        if key in end.summary:
            yield _Sample(f"{last}_{key}", text, _number(end.summary[key]))
    if "findings_by_kind" in end.summary:
        for kind in FindingKind:
            labels = {"kind": str(kind), "look": "yes" if kind.needs_a_look else "no"}
            count = end.summary["findings_by_kind"].get(kind, 0)
            yield _Sample(f"{last}_findings", "Findings, by kind.", count, labels)
    for code, count in end.summary.get("defects", {}).items():
        text = "Spans quarantined, by defect."
        yield _Sample(f"{last}_quarantined_by_defect", text, count, {"defect": code})
    for key in ("gaps", "left_gaps"):
        for cause, partitions in end.summary.get(key, {}).items():
            offsets = sum(found["offsets"] for found in partitions.values())
            yield _Sample(
                f"{last}_gap_offsets", "Offsets in gaps, by cause.", offsets, {"cause": cause}
            )
    if "disks" in end.summary:
        yield from _of_disks(f"{last}_disk", end.summary["disks"]["copies"])


# Any: the types that JSON can hold.
def _number(value: Any) -> float:
    """Return a number itself, the sum of a mapping's numbers, or the length of a collection."""
    if isinstance(value, Mapping) and all(isinstance(v, int) for v in value.values()):
        return sum(value.values())
    return value if isinstance(value, int | float) else len(value)


def _of_disks(prefix: str, copies: list[Mapping[str, Any]]) -> Iterator[_Sample]:
    """Yield samples on an audit's comparison of the lake with disks."""
    equal = sum(copy["equal"] for copy in copies)
    yield _Sample(
        f"{prefix}_equal_records", "Records that are equal on the disks and in the lake.", equal
    )
    for key, text in (
        ("different", "Records that differ between lake and disks without a cause."),
        ("only_on_disk", "Records that the lake lacks without a cause."),
    ):
        yield _Sample(f"{prefix}_{key}_records", text, sum(copy[key]["records"] for copy in copies))
