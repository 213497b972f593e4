"""The blocks of docs/query.md, and a folder in which they run as they stand there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
PAGE = _ROOT / "docs" / "query.md"
LAKE = "build/demo"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Any: a block's own variables, of any type.
Names = dict[str, object]


def blocks(section: str, language: str) -> list[str]:
    """The blocks of one language below a heading of the second level, in order."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [block for kind, block in _BLOCK.findall(text) if kind == language]


def questions() -> list[str]:
    """The five statements of SQL."""
    return blocks("The questions", "sql")


def ran(sources: list[str]) -> Names:
    """Run blocks of Python one after the other, and give the names that they bound."""
    names: Names = {"__name__": PAGE.name}
    for source in sources:
        exec(compile(source, PAGE.name, "exec"), names)
    return names


@contextmanager
def in_checkout(folder: Path, lake: Path) -> Iterator[Path]:
    """Be in a folder that has what the page takes for granted, with another lake for its own."""
    (folder / "docs").symlink_to(_ROOT / "docs")
    (folder / LAKE).parent.mkdir()
    (folder / LAKE).symlink_to(lake)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
