"""Finds the sentences in the product's source that a person may read.

Reads the source.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parents[2] / "libs" / "seglake"
_FEWEST_WORDS = 3
_WORD = re.compile(r"[A-Za-z]{2,}")
_ELLIPSIS = "…"


class ProductText(NamedTuple):
    """A literal text; an ellipsis stands for each value in it."""

    module: str
    line: int
    text: str


def sentences(
    *, without: tuple[str, ...], fewest_words: int = _FEWEST_WORDS
) -> Iterator[ProductText]:
    """Literal texts of some words, less docstrings, types, patterns, comparisons and the debug log.

    Args:
        without: modules and folders, relative to the package, that are passed over.
    """
    for path in sorted(_PACKAGE.rglob("*.py")):
        module = path.relative_to(_PACKAGE).as_posix()
        if not module.startswith(without):
            yield from _sentences(module, ast.parse(path.read_text("utf-8")), fewest_words)


def _sentences(module: str, tree: ast.Module, fewest_words: int) -> Iterator[ProductText]:
    silent = {id(part) for node in ast.walk(tree) for part in _silent_parts(node)}
    for node in ast.walk(tree):
        text = None if id(node) in silent else _text(node)
        if text is None:
            continue
        silent |= {id(part) for part in ast.walk(node)}
        if len(_WORD.findall(text)) >= fewest_words and (" " in text.strip() or fewest_words < 2):
            yield ProductText(module, getattr(node, "lineno", 0), text)


def _text(node: ast.AST) -> str | None:
    """A literal, or several that are added up; None for what is no text."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or _ELLIPSIS for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = (_text(left), _text(right))
            return None if texts == (None, None) else "".join(text or _ELLIPSIS for text in texts)
        case _:
            return None


def _silent_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Whatever stands in a node and is said to nobody."""
    roots: list[ast.AST | None] = []
    match node:
        case ast.Expr(value=ast.Constant()):  # docstrings of modules, classes, attributes
            roots = [node]
        case ast.AnnAssign():
            roots = [node.annotation]
        case ast.arg():
            roots = [node.annotation]
        case ast.FunctionDef():
            roots = [node.returns]
        case ast.Compare():
            roots = [node]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "_LOG"))) | ast.Subscript():
            roots = [node]  # a pattern, a line of the debug log, a key
        case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "_columns" | "_bigint")):
            roots = [node]
    for root in roots:
        if root is not None:
            yield from ast.walk(root)
