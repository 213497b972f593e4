"""The figures of lakes' lives as Markdown and as a picture. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log10
from xml.sax.saxutils import escape

_MIB = 1024 * 1024
_LEFT, _WIDTH, _TOP, _HEIGHT, _PANEL = 40, 330, 60, 200, 420
_COLOURS = {True: "#1b6ca8", False: "#d9822b"}
_NAMES = {True: "with `maintain` each week", False: "without"}


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
    """What docs/performance.md shows."""
    head = (
        "| runs before | maintained | wall time, s | CPU time, s | memory, MiB | requests to S3"
        " | last `maintain`, s |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
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
        f"{mark.maintain_s:.0f}" if mark.maintain_s else "",
    ]
    return f"| {' | '.join(cells)} |"


def chart(marks: Sequence[Mark]) -> str:
    """An SVG that needs nothing else: a panel for each kind of run."""
    width, height = len(Kind) * _PANEL, _TOP + _HEIGHT + 40
    parts = [*_legend(), *(part for panel in enumerate(Kind) for part in _panel(marks, *panel))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _legend() -> Iterator[str]:
    for place, (is_maintained, colour) in enumerate(_COLOURS.items()):
        left = _LEFT + place * 200
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{colour}"/>'
        yield _text(left + 18, 18, _NAMES[is_maintained])


def _panel(marks: Sequence[Mark], number: int, kind: Kind) -> Iterator[str]:
    left, bottom = _LEFT + number * _PANEL, _TOP + _HEIGHT
    first = min(mark.run_count for mark in marks)
    last = max(mark.run_count for mark in marks)
    most = max(mark.cpu_s[kind] for mark in marks) * 1.1
    yield _text(left, 44, f"{kind}: CPU seconds of a run")
    yield f'<path d="M{left} {_TOP}V{bottom}H{left + _WIDTH}" fill="none" stroke="#888888"/>'
    for is_maintained, colour in _COLOURS.items():
        own = [mark for mark in marks if mark.is_maintained is is_maintained]
        points = [
            (
                left + _WIDTH * log10(mark.run_count / first) / (log10(last / first) or 1),
                bottom - _HEIGHT * mark.cpu_s[kind] / most,
            )
            for mark in own
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for (x, y), mark in zip(points, own, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
            yield _text(x, y - 7, f"{mark.cpu_s[kind]:.2f}", "middle")
            yield _text(x, bottom + 16, f"{mark.run_count:,}", "middle")
    yield _text(left, bottom + 32, "runs before it")


def _text(left: float, bottom: float, text: str, anchor: str = "start") -> str:
    place = f'x="{left:.1f}" y="{bottom:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="#222222">{escape(text)}</text>'
