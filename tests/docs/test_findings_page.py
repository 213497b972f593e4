"""docs/messages.md explains each kind of finding, in the catalogue's order."""

import re
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind, Look

_PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
_SECTION = re.compile(r"^## Findings$(.*?)^## ", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (`[^|]*`) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_PARTS = ("### Findings with exit code 3\n", "### Findings without a need to look\n")
_BY_LIMIT = re.compile(r"[Ww]ith `limits\.fail_on_\w+`")


def _section() -> str:
    section = _SECTION.search(_PAGE.read_text("utf-8"))
    return "" if section is None else section[1]


def _rows(text: str | None = None) -> list[tuple[str, str, str, str]]:
    """Name, what else is quoted, meaning and advice; a row of several kinds once for each."""
    rows = _ROW.findall(_section() if text is None else text)
    return [
        (name, quoted, meaning, to_do)
        for quoted, meaning, to_do in rows
        for name in re.findall(r"`([^`]+)`", quoted)
        if name in [*FindingKind]
    ]


def test_each_kind_has_one_row_in_the_order_of_the_catalogue() -> None:
    assert [name for name, *_ in _rows()] == [*FindingKind]


@pytest.mark.parametrize("kind", FindingKind)
def test_row_has_the_label_the_limit_and_the_advice(kind: FindingKind) -> None:
    ((quoted, meaning, to_do),) = [row for name, *row in _rows() if name == kind]
    assert not kind.label or f"`{kind.label}: …`" in quoted
    assert bool(_BY_LIMIT.search(meaning)) == (kind.look is Look.BY_LIMIT)
    assert _LINK.sub(r"\1", to_do) == kind.to_do


def test_rows_stand_below_the_exit_code_of_their_kind() -> None:
    look, other = (_section().index(part) for part in _PARTS)
    needed, known = (_rows(text) for text in (_section()[look:other], _section()[other:]))
    assert [name for name, *_ in needed] == [k for k in FindingKind if k.look is not Look.NO]
    assert [name for name, *_ in known] == [k for k in FindingKind if k.look is Look.NO]


def test_kinds_that_need_a_look_come_first() -> None:
    is_known = [kind.look is Look.NO for kind in FindingKind]
    assert is_known == sorted(is_known)
