"""Turns a terminal's screen into a page, of which the browser takes the picture."""

import html
from collections.abc import Iterator
from itertools import groupby

import pyte

_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #fff }}
pre {{ display: inline-block; margin: 0; padding: 14px 18px; border-radius: 6px;
  background: #14171c; color: #d7dce2; font: 14px/1.35 "DejaVu Sans Mono", monospace }}
b {{ color: #fff }}
</style><pre>{lines}</pre>"""


def page_of(transcript: bytes, *, columns: int, rows: int) -> str:
    """The screen as it is after all bytes of the transcript, without its empty last lines."""
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(transcript)
    lines = ["".join(_cells(screen, row)).rstrip() for row in range(rows)]
    while lines and not lines[-1]:
        lines.pop()
    return _PAGE.format(lines="\n".join(lines))


def _cells(screen: pyte.Screen, row: int) -> Iterator[str]:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    for is_bold, some in groupby(cells, lambda cell: cell.bold):
        text = html.escape("".join(cell.data for cell in some))
        yield f"<b>{text}</b>" if is_bold else text
