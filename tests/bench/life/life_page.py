"""The figures of lakes' lives as Markdown and as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench import line_chart
from bench.line_chart import Panel

_MIB = 1024 * 1024


class Kind(StrEnum):
    """What a run finds."""

    NEW = "new records in every topic"
    NOTHING = "nothing new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a run costs after so many before it.

    Attributes:
        is_maintained: there was a maintenance after each week of runs.
        wall_s, cpu_s, peak_bytes: of a process, on a local disk; medians, memory of the driver.
        requests: to a lake on S3.
        data_files: that lie in the lake, those included that wait for a vacuum.
        maintain_s: what the last maintenance took, 0 when there was none.
    """

    is_maintained: bool
    run_count: int
    wall_s: Mapping[Kind, float]
    cpu_s: Mapping[Kind, float]
    peak_bytes: Mapping[Kind, int]
    requests: Mapping[Kind, int]
    data_files: int
    maintain_s: float


def page(marks: Sequence[Mark], facts: Sequence[str], picture: str) -> str:
    """What tests/bench/results.md shows."""
    head = (
        "| runs before | maintained | wall time, s | CPU time, s | memory, MiB | requests to S3"
        " | data files in the lake | last `maintain`, s |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    rows = "\n".join(map(_row, marks))
    lines = "\n".join(f"- {fact}" for fact in facts)
    alt = "CPU time of a run, by the number of runs before it"
    said = f"{Kind.NEW.capitalize()} / {Kind.NOTHING}:"
    return f"{lines}\n\n![{alt}]({picture})\n\n{said}\n\n{head}\n{rows}"


def _row(mark: Mark) -> str:
    def pair(values: Mapping[Kind, float], digits: int) -> str:
        return " / ".join(f"{values[kind]:,.{digits}f}" for kind in Kind)

    memory = {kind: value / _MIB for kind, value in mark.peak_bytes.items()}
    cells = [
        f"{mark.run_count:,}",
        "weekly" if mark.is_maintained else "never",
        pair(mark.wall_s, 2),
        pair(mark.cpu_s, 2),
        pair(memory, 0),
        pair(mark.requests, 0),
        f"{mark.data_files:,}",
        f"{mark.maintain_s:.0f}" if mark.maintain_s else "",
    ]
    return f"| {' | '.join(cells)} |"


def chart(marks: Sequence[Mark]) -> str:
    """A panel for each kind of run."""
    lives = [[mark for mark in marks if mark.is_maintained is way] for way in (True, False)]
    panels = [
        Panel(
            f"{kind}: CPU seconds of a run",
            [[(mark.run_count, mark.cpu_s[kind]) for mark in life] for life in lives],
        )
        for kind in Kind
    ]
    legend = ("with `maintain` each week", "without")
    return line_chart.chart(panels, legend=legend, x_name="runs before it")
