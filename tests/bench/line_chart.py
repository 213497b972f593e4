"""Lines over a logarithmic axis, as an SVG that needs nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#d9822b")
_LEFT, _WIDTH, _TOP, _HEIGHT, _PANEL = 40, 330, 60, 200, 420


@dataclass(frozen=True, slots=True)
class Panel:
    """Some lines, each of points that rise in x.

    Attributes:
        lines: in the order of the chart's legend.
        is_log: of the upright axis; it begins at 0 otherwise.
        digits: of the numbers at the points.
    """

    title: str
    lines: Sequence[Sequence[tuple[int, float]]]
    is_log: bool = False
    digits: int = 2


def chart(panels: Sequence[Panel], *, legend: Sequence[str], x_name: str) -> str:
    """The panels side by side."""
    width, height = len(panels) * _PANEL, _TOP + _HEIGHT + 40
    parts = [*_legend(legend)]
    for number, panel in enumerate(panels):
        left = _LEFT + number * _PANEL
        parts += _panel(panel, left)
        parts.append(_text(left, _TOP + _HEIGHT + 32, x_name))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        left = _LEFT + place * 200
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{colour}"/>'
        yield _text(left + 18, 18, name)


def _panel(panel: Panel, left: float) -> Iterator[str]:
    bottom = _TOP + _HEIGHT
    across = [x for line in panel.lines for x, _ in line]
    up = [y for line in panel.lines for _, y in line]
    yield _text(left, 44, panel.title)
    yield f'<path d="M{left} {_TOP}V{bottom}H{left + _WIDTH}" fill="none" stroke="#888888"/>'
    for line, colour in zip(panel.lines, COLOURS, strict=False):
        points = [
            (left + _WIDTH * _log_share(x, across), bottom - _HEIGHT * _height(y, up, panel.is_log))
            for x, y in line
        ]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for (x, y), (number, value) in zip(points, line, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
            yield _text(x, y - 7, f"{value:,.{panel.digits}f}", "middle")
            yield _text(x, bottom + 16, f"{number:,}", "middle")


def _height(value: float, values: Sequence[float], is_log: bool) -> float:
    return 0.05 + 0.85 * _log_share(value, values) if is_log else value / (max(values) * 1.1)


def _log_share(value: float, values: Sequence[float]) -> float:
    first, last = min(values), max(values)
    return log10(value / first) / (log10(last / first) or 1)


def _text(left: float, bottom: float, text: str, anchor: str = "start") -> str:
    place = f'x="{left:.1f}" y="{bottom:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="#222222">{escape(text)}</text>'
