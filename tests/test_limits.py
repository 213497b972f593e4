"""Modules, functions and parameter lists keep to the limits of CONTRIBUTING.md."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("libs", "jobs", "airflow_dags", "samples", "tests")
MODULE_LINES, FUNCTION_LINES, PARAMETERS = 400, 50, 8


def _excesses(text: str) -> Iterator[str]:
    lines = text.count("\n")
    if lines > MODULE_LINES:
        yield f"the module has {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if lines > FUNCTION_LINES:
                yield f"{node.name} has {lines} lines"
            if len(names) > PARAMETERS:
                yield f"{node.name} has {len(names)} parameters"


def test_no_module_function_or_parameter_list_is_too_long() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(paths) > 1_000
    assert [
        f"{path.relative_to(ROOT)}: {excess}"
        for path in paths
        for excess in _excesses(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        ("\n" * 401, "the module has 401 lines"),
        ("def f():\n" + "    pass\n" * 50, "f has 51 lines"),
        ("async def f(a, /, b, c, d, *, e, f, g, h, i):\n    pass\n", "f has 9 parameters"),
    ],
)
def test_what_is_over_a_limit_is_named(text: str, excess: str) -> None:
    assert [*_excesses(text)] == [excess]


def test_what_is_just_at_the_limits_is_not_named() -> None:
    text = "def f(a, /, b, c, d, *, e, f, g, h):\n" + "    pass\n" * 49
    assert [*_excesses(text + "\n" * (MODULE_LINES - 50))] == []
