"""Identifiers of the product use the words of CONTRIBUTING's table: one verb for one idea."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_REPO = Path(__file__).parents[1]
_RETIRED = {
    "behind": "after, above",
    "looked": "surveyed, inspected",
    "met": "found",
    "said": "stated, named",
    "taken": "ingested, chosen, added",
    "takes": "reads, selects, includes",
    "told": "reported, read",
    "untold": "unreadable",
    "wanted": "requested",
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _words(identifier: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(identifier)}


def _identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives, each with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield 0, name


def _retired(source: str) -> list[str]:
    return [
        f"{line}: {name} (rather {_RETIRED[word]})"
        for line, name in _identifiers(source)
        for word in sorted(_words(name) & _RETIRED.keys())
    ]


def test_no_identifier_of_the_product_has_a_retired_word() -> None:
    found = {
        str(path.relative_to(_REPO)): names
        for folder in ("libs", "jobs", "airflow_dags")
        for path in sorted((_REPO / folder).rglob("*.py"))
        if (names := _retired(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "is_behind = True",
        "class WantedOffsets: ...",
        "def f(takes_topic): ...",
        "self._told_offset = 1",
        "for met in (): ...",
        "import json as said",
    ],
)
def test_a_retired_word_is_found_in_each_place_that_gives_a_name(source: str) -> None:
    assert len(_retired(source)) == 1


def test_a_word_that_only_contains_a_retired_one_is_none() -> None:
    assert _retired("metrics = mistaken = method = parameters = 1") == []


def test_the_table_of_verbs_names_each_retired_word() -> None:
    table = (_REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, verbs = table.partition("| verb | for | not |")
    rows = verbs.partition("\n\n")[0]
    assert {word for word in _RETIRED if not re.search(rf"`{word}`", rows)} == set()
