"""A broker's disk whose high watermarks rise: what a later copy of it would be, without one."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_FILE = "replication-offset-checkpoint"
_ENTRY = re.compile(r"^(\S+ \d+) (\d+)$", re.MULTILINE)


def rising(disk: Path, percents: Sequence[int]) -> Iterator[int]:
    """Set the high watermarks to shares of what they are, one share after the other."""
    path = disk / _FILE
    whole = path.read_text("utf-8")
    for percent in percents:
        path.write_text(_at(whole, percent), "utf-8")
        yield percent


def _at(text: str, percent: int) -> str:
    return _ENTRY.sub(lambda entry: f"{entry[1]} {int(entry[2]) * percent // 100}", text)
