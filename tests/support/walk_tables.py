"""Shows walks of segments in broken tests, as tables: positions, offsets, defects, first bytes.

A comparison of two walks shows both where they first differ. Any other broken test shows the walks
that it made, as far as they were `noted`.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import NamedTuple

import pytest

from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.message_set import CODEC_MASK, MessageRun, Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.segment import Item

Items = Sequence[Item | BatchRun]
_Row = tuple[str, ...]

_HEADINGS = ("", "position", "bytes", "what", "offsets", "more", "first bytes")
_FIRST_BYTES = 17  # offset, length, what differs by format, magic
_MOST_ROWS = 30
_MOST_WALKS = 2


class _Walk(NamedTuple):
    content: bytes
    items: Items


_WALKS: list[_Walk] = []


def noted(content: bytes, items: Items) -> None:
    """Keep a walk in case that the test breaks; the newest two are kept."""
    _WALKS.append(_Walk(content, items))
    del _WALKS[:-_MOST_WALKS]


def table_of(items: Items, content: bytes = b"") -> list[str]:
    """Return the items of a walk as lines of a table; of many the first and the last.

    Args:
        content: the segment; without it there is no column with the first bytes of each item.
    """
    rows = [_row(item, content) for item in items]
    half, left_out = _MOST_ROWS // 2, len(rows) - _MOST_ROWS
    if left_out > 0:
        rows[half:-half] = [("", "…", "", f"{left_out} more", "", "", "")]
    return _aligned(rows)


def difference_of(left: Sequence[Item], right: Sequence[Item]) -> list[str]:
    """Return the first item that differs, and the one before: pytest shows eight lines."""
    pairs = zip_longest(left, right)
    first = next((n for n, (one, other) in enumerate(pairs) if one != other), len(left))
    named = (("both", left[:first][-1:]), ("left", left[first:][:1]), ("right", right[first:][:1]))
    rows = [(name, *_row(item, b"")[1:]) for name, part in named for item in part]
    differing = ", ".join(_differing_fields(*left[first:][:1], *right[first:][:1]))
    title = f"walks of {len(left)} and {len(right)} items differ from item {first} on"
    return [f"{title}, in {differing}" if differing else title, *_aligned(rows)]


def _differing_fields(*items: Item) -> list[str]:
    if len({type(item) for item in items}) > 1 or len(items) < 2:
        return []
    one, other = items
    names = (field.name for field in fields(one))
    return [name for name in names if getattr(one, name) != getattr(other, name)]


class WalkTables:
    """A pytest plug-in that adds these tables to what a broken test prints."""

    def pytest_runtest_setup(self) -> None:
        _WALKS.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and report.when == "call":
            for walk in _WALKS:
                title = f"walk over {len(walk.content)} bytes, {len(walk.items)} items"
                report.sections.append((title, "\n".join(table_of(walk.items, walk.content))))
        return report

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Compare two walks item by item; other values as usual."""
        one, other = _walk_of(left), _walk_of(right)
        if op != "==" or one is None or other is None or not (one or other):
            return None
        return difference_of(one, other)


def _walk_of(value: object) -> list[Item] | None:
    if isinstance(value, list) and all(isinstance(item, Item) for item in value):
        return value
    return None


def _row(item: Item | BatchRun, content: bytes) -> _Row:
    what, offsets, more = _told(item)
    data = content[item.position : item.position + min(item.size_bytes, _FIRST_BYTES)]
    return "", str(item.position), str(item.size_bytes), what, offsets, more, _shown(data)


def _told(item: Item | BatchRun) -> tuple[str, str, str]:
    """Return an item's kind, its offsets and its other facts, as texts."""
    match item:
        case Defect():
            claims = f"claims {_claimed(item)}, expected {item.expected_offset}"
            return f"! {item.code}", claims, item.detail
        case Tail():
            return f"~ {item.kind}", "", ""
        case BatchRun():
            return "run of batches", _range(item), f"{len(item)} inside"
        case RecordBatch():
            header = item.header
            more = f"records {header.record_count}, {_codec(header.codec_id)}"
            more += f", epoch {header.partition_leader_epoch}, producer {header.producer_id}"
            return "batch", _range(item), more + ", corrected" * item.is_corrected
        case Wrapper():
            more = f"{_codec(item.attributes & CODEC_MASK)}, false offset {item.false_offset}"
            return f"wrapper of magic {item.magic}", f"last {item.last_offset}", more
        case MessageRun():
            return f"messages of magic {item.magic}", _range(item), f"{item.message_count} inside"


def _range(item: RecordBatch | BatchRun | MessageRun) -> str:
    return f"[{item.first_offset}, {item.last_offset + 1})"


def _claimed(defect: Defect) -> str:
    ends = (defect.base_offset, defect.last_offset)
    return " to ".join("?" if end is None else str(end) for end in ends)


def _codec(codec_id: int) -> str:
    return Codec(codec_id).name.lower() if codec_id in list(Codec) else f"codec {codec_id}"


def _shown(data: bytes) -> str:
    """The fields that all formats begin with: offset, length, four bytes, magic."""
    return " ".join(data[at:stop].hex() for at, stop in ((0, 8), (8, 12), (12, 16), (16, 17)))


def _aligned(rows: Iterable[_Row]) -> list[str]:
    table = [_HEADINGS, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    return [line.rstrip() for line in lines]
