"""Makes the plain breaks of a module from its syntax: comparisons, conditions, `min`, `+ 1`.

What the catalogue lists by hand needs a reader of the code; these do not.
"""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

from mutants.catalogue import ROOT, Mutant

_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_CONDITIONS = {"and": "or", "or": "and"}
_EXTREMES = {"min": "max", "max": "min"}
_PRODUCT = Path("libs/seglake")

_Edit = tuple[int, int, str]  # where the old text begins and ends, and the new text


def generated(path: str) -> Iterator[Mutant]:
    """Make all plain breaks of the modules at or below a path, which is relative to the project.

    Each names its module and line, and as its tests the file or folder that mirrors the module.
    """
    start = ROOT / path
    for file in sorted(start.rglob("*.py")) if start.is_dir() else [start]:
        text = file.read_text(encoding="utf-8")
        place = file.relative_to(ROOT)
        tests = _mirror(place)
        for first, last, new in sorted(set(edits(text))):
            line = text.count("\n", 0, first) + 1
            old = text[first:last].strip() or "nothing"
            find, before = _lone_passage(text, first, last)
            yield Mutant(
                name=f"{place}:{line}: {new.strip() or 'nothing'} for {old}",
                file=str(place),
                find=find,
                replace=find[:before] + new + find[before + last - first :],
                caught_by=tests,
            )


def room_of(mutant: Mutant) -> str:
    """Return the folder of the tests of a mutant's room."""
    return str(Path(*_mirrored(Path(mutant.file)).parts[:2]))


def _mirrored(place: Path) -> Path:
    """Return where a module would be if the tests were the product."""
    parts = place.relative_to(_PRODUCT).parts
    return Path("tests", *(parts[1:] if parts[0] == "pipelines" else parts))


def _mirror(place: Path) -> str:
    """Return the test file that mirrors a module, else the nearest folder of tests that does."""
    mirror = _mirrored(place)
    if (ROOT / (test := mirror.with_name(f"test_{mirror.name}"))).exists():
        return str(test)
    return str(next(folder for folder in mirror.parents if (ROOT / folder).is_dir()))


def _lone_passage(text: str, first: int, last: int) -> tuple[str, int]:
    """Return the lines around an edit that stand in a text once, and where the edit is in them."""
    begin, end = text.rfind("\n", 0, first) + 1, text.find("\n", last) + 1
    while text.count(passage := text[begin:end]) > 1:
        begin = text.rfind("\n", 0, begin - 1) + 1
    return passage, first - begin


def edits(text: str) -> Iterator[_Edit]:
    """Yield the plain edits of a module: where they begin and end in its text, and what is new."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(
            text[starts[line - 1] : starts[line]].encode()[:column].decode()
        )

    def begin(node: ast.expr) -> int:
        return place(node.lineno, node.col_offset)

    def end(node: ast.expr) -> int:
        return place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def between(one: ast.expr, other: ast.expr, swaps: dict[str, str]) -> Iterator[_Edit]:
        gap = text[end(one) : begin(other)]
        for old in sorted(swaps, key=len, reverse=True):
            if (at := gap.find(old)) >= 0 and "#" not in gap:
                yield end(one) + at, end(one) + at + len(old), swaps[old]
                return

    for node in _code(ast.parse(text)):
        match node:
            case ast.Compare(left, _, comparators):
                for one, other in itertools.pairwise([left, *comparators]):
                    yield from between(one, other, _COMPARISONS)
            case ast.BoolOp(_, values):
                for one, other in itertools.pairwise(values):
                    yield from between(one, other, _CONDITIONS)
            case ast.UnaryOp(ast.Not()):
                yield begin(node), begin(node) + len("not "), ""
            case ast.Call(ast.Name(name) as called) if name in _EXTREMES:
                yield begin(called), end(called), _EXTREMES[name]
            case ast.BinOp(left, ast.Add() | ast.Sub(), ast.Constant(1)):
                sign = text.index("+" if isinstance(node.op, ast.Add) else "-", end(left))
                yield sign, end(node), ""
            case ast.Constant(bool() as value):
                yield begin(node), end(node), str(not value)


def _code(module: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of what a module does: without decorators, types and checks for a reader."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        yield node
        left_out: list[ast.AST] = []
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                left_out = [*node.decorator_list]
            case ast.Assert():
                continue
        waiting += [child for child in ast.iter_child_nodes(node) if child not in left_out]
