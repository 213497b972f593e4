"""The wall times as a picture: a panel for cold jobs and one for warm ones, a group a workload.

The longest bar of a group has the whole width, so that small workloads can be seen beside large.
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from bench.kafka.figures import Cost, Measured, Start
from bench.kafka.systems import System

_COLOURS = {
    System.LOCAL: "#1b6ca8",
    System.SPARK: "#6fb1e0",
    System.KAFKA_SOURCE: "#d9822b",
    System.JAVA: "#9a9a9a",
}
_LABELS, _PANEL, _BAR, _GAP, _HEAD, _NUMBERS = 110, 380, 11, 12, 56, 60


def chart(found: Sequence[Measured]) -> str:
    """An SVG that needs nothing else."""
    group = len(System) * _BAR + _GAP
    width = _LABELS + len(Start) * _PANEL
    height = _HEAD + len(found) * group
    parts = [*_legend(), *(part for panel in enumerate(Start) for part in _panel(found, *panel))]
    for row, each in enumerate(found):
        middle = _HEAD + row * group + len(System) * _BAR / 2
        parts.append(_text(_LABELS - 8, middle + 4, each.topic.name, "end"))
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
    for place, (system, colour) in enumerate(_COLOURS.items()):
        left = _LABELS + place * 170
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{colour}"/>'
        yield _text(left + 18, 18, system)


def _panel(found: Sequence[Measured], number: int, start: Start) -> Iterator[str]:
    left = _LABELS + number * _PANEL
    yield _text(left, 44, f"{start} job, seconds")
    for row, each in enumerate(found):
        seconds = {system: each.cost_s(system, start, Cost.WALL) for system in System}
        longest = max(seconds.values())
        for place, (system, value) in enumerate(seconds.items()):
            top = _HEAD + row * (len(System) * _BAR + _GAP) + place * _BAR
            length = max(1.0, value / longest * (_PANEL - _NUMBERS))
            colour = _COLOURS[system]
            yield (
                f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{_BAR - 1}"'
                f' fill="{colour}"/>'
            )
            yield _text(left + length + 4, top + _BAR - 2, f"{value:.1f}")


def _text(left: float, bottom: float, text: str, anchor: str = "start") -> str:
    place = f'x="{left:.1f}" y="{bottom:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="#222222">{escape(text)}</text>'
