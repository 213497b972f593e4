"""The figures of large sources as Markdown and as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import line_chart
from bench.line_chart import Panel

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of a run on a local disk: of all its processes, memory of the driver alone."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a source of so many segments costs.

    Attributes:
        first: of a run into a new lake.
        nothing: of one that finds nothing new; medians.
        file_count: data files that the first run made.
        s3_requests, hdfs_calls: of a run that finds nothing new, with source and lake there; None
            where it was not tried.
    """

    segments: int
    partitions: int
    topics: int
    first: Cost
    nothing: Cost
    file_count: int
    s3_requests: int | None
    hdfs_calls: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How well the work of a run was spread over the cores."""

    what: str
    cost: Cost
    task_count: int
    cores: int

    @property
    def busy(self) -> float:
        """The share of the cores' time that was used, from the start of the process to its end."""
        return self.cost.cpu_s / self.cost.wall_s / self.cores


def page(
    sizes: Sequence[Size], spreads: Sequence[Spread], facts: Sequence[str], picture: str
) -> str:
    """What tests/bench/results.md shows."""
    lines = "\n".join(f"- {fact}" for fact in facts)
    head = (
        "| segments | partitions | topics | wall time, s | CPU time, s | driver's memory, MiB"
        " | data files | requests to S3 | calls to the name node |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    rows = "\n".join(map(_row, sizes))
    alt = "Time of a first run, and of one with nothing new, by the number of segments"
    text = f"{lines}\n\n![{alt}]({picture})\n\nFirst run / nothing new:\n\n{head}\n{rows}"
    if not spreads:
        return text
    head = (
        "| source | wall time, s | CPU time, s | tasks | cores busy |\n"
        "| --- | --- | --- | --- | --- |"
    )
    return f"{text}\n\n{head}\n" + "\n".join(map(_spread_row, spreads))


def _row(size: Size) -> str:
    first, nothing = size.first, size.nothing
    cells = [
        f"{size.segments:,}",
        f"{size.partitions:,}",
        f"{size.topics:,}",
        f"{first.wall_s:,.1f} / {nothing.wall_s:,.1f}",
        f"{first.cpu_s:,.1f} / {nothing.cpu_s:,.1f}",
        f"{first.peak_bytes / _MIB:,.0f} / {nothing.peak_bytes / _MIB:,.0f}",
        f"{size.file_count:,}",
        "" if size.s3_requests is None else f"{size.s3_requests:,}",
        "" if size.hdfs_calls is None else f"{size.hdfs_calls:,}",
    ]
    return f"| {' | '.join(cells)} |"


def _spread_row(spread: Spread) -> str:
    cost = spread.cost
    cells = [spread.what, f"{cost.wall_s:,.1f}", f"{cost.cpu_s:,.1f}", f"{spread.task_count:,}"]
    return f"| {' | '.join(cells)} | {spread.busy:.0%} |"


def chart(sizes: Sequence[Size]) -> str:
    """Time and memory."""
    panels = [
        Panel(
            "Wall time, seconds",
            [
                [(size.segments, size.first.wall_s) for size in sizes],
                [(size.segments, size.nothing.wall_s) for size in sizes],
            ],
            is_log=True,
            digits=1,
        ),
        Panel(
            "Memory of the driver, MiB",
            [
                [(size.segments, size.first.peak_bytes / _MIB) for size in sizes],
                [(size.segments, size.nothing.peak_bytes / _MIB) for size in sizes],
            ],
            digits=0,
        ),
    ]
    return line_chart.chart(panels, legend=("first run", "nothing new"), x_name="segments")
