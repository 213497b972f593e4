"""Docstrings of the product begin with a verb or a noun, so that each can be read alone.

Ruff's rules D hold their form; here are the openings that none of them knows.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("libs", "jobs", "airflow_dags")
# A sentence that begins so needs the text before it, or has its verb at the end.
_BANNED = re.compile(
    r"(?:(?:What|Whether|Which|Where|Whose|Why|When|How|Those|These|They|The same|Same"
    r"|Of|As|It|Its|Also|That which|In which|By which|From which|The one)\b|Initiali[sz]e self)",
    re.IGNORECASE,
)


def _docstrings(code: str) -> Iterator[str]:
    """Yield the docstrings of a module: also those after the values that they explain."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield text


def _banned(code: str) -> list[str]:
    return [text for text in _docstrings(code) if _BANNED.match(text)]


def test_no_docstring_has_a_banned_opening() -> None:
    files = [path for folder in _FOLDERS for path in (_ROOT / folder).rglob("*.py")]
    found = [(path.name, text) for path in files for text in _banned(path.read_text("utf-8"))]
    assert len(files) > 300
    assert found == []


@pytest.mark.parametrize(
    "text", ["What it holds.", "Whether it is.", "As `take`.", "The same, cut."]
)
@pytest.mark.parametrize("code", ['"""{}"""', 'def f():\n    """{}"""', 'x = 1\n"""{}"""'])
def test_a_banned_opening_is_found(code: str, text: str) -> None:
    assert _banned(code.format(text)) == [text]


def test_a_docstring_that_stands_alone_is_not_banned() -> None:
    assert _banned('"""Asset of a run, as it is."""') == []
