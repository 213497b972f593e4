"""Infers shapes from values that are JSON without a schema."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.json.numbers import EXACT, doubles_of
from seglake.value_codec.json.shapes import Kind, Shape, merged_shapes
from seglake.value_codec.json.texts import Texts, growing_paths, read_nodes
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.kernels.json_operations import Paths

_KINDS = {
    op.NULL: Kind.NULL,
    op.FALSE: Kind.BOOLEAN,
    op.TRUE: Kind.BOOLEAN,
    op.INTEGER: Kind.INTEGER,
    op.BIG_NUMBER: Kind.TEXT,
    op.FLOAT: Kind.NUMBER,
    op.STRING: Kind.STRING,
    op.ESCAPED_STRING: Kind.STRING,
    op.ODD_STRING: Kind.TEXT,
    op.ARRAY: Kind.LIST,
    op.OBJECT: Kind.OBJECT,
}
_CODES = max(_KINDS) + 1


def shape_of(bodies: Bodies) -> Shape:
    """Return the shape of all texts that are JSON.

    If a member's values differ in kind, its column has the kind of the first value that is not
    null; values of other kinds are JSON text. Objects with more than 1,000 different keys and
    values nested deeper than 32 levels are JSON text, too. If roots differ in kind, objects get the
    columns.
    """
    paths = growing_paths()
    texts = read_nodes(bodies, paths)
    kinds = _kinds_by_path(texts)
    return _shape(0, kinds, _children(paths), paths)


def _kinds_by_path(texts: Texts) -> Mapping[int, list[Shape]]:
    """Return, for each path, the kinds found there, in the order of the texts."""
    tape = texts.tape
    kinds = tape.kinds.copy()
    sums = tape.paths.astype(np.int64)
    has_float = np.zeros(int(sums.max(initial=-1)) + 1, np.bool_)
    has_float[sums[kinds == op.FLOAT]] = True
    numbers = np.flatnonzero(has_float[sums] & ((kinds == op.FLOAT) | (kinds == op.INTEGER)))
    _, are_exact = doubles_of(texts, numbers)
    kinds[numbers[~are_exact]] = op.BIG_NUMBER
    are_wide = (kinds == op.INTEGER) & ((tape.values > EXACT) | (tape.values < -EXACT))
    has_wide = {*sums[np.flatnonzero(are_wide & ~has_float[sums])].tolist()}
    codes = sums * _CODES + kinds
    firsts = np.full(len(has_float) * _CODES, len(codes))
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]  # NumPy keeps the last of several assignments
    found = np.flatnonzero(firsts < len(codes))
    by_path: dict[int, list[Shape]] = defaultdict(list)
    for code in found[np.argsort(firsts[found])].tolist():
        path, kind = divmod(code, _CODES)
        is_wide = kind == op.INTEGER and path in has_wide
        by_path[path].append(Shape(_KINDS[kind], is_wide=is_wide))
    return by_path


def _children(paths: Paths) -> Mapping[int, Sequence[int]]:
    """Return, for each path, the paths of the members found below it."""
    items = {int(item) for item in paths.items if item >= 0}
    children: dict[int, list[int]] = defaultdict(list)
    for path in range(1, int(paths.used[0])):
        if path not in items:
            children[int(paths.parents[path])].append(path)
    return children


def _shape(
    path: int,
    kinds: Mapping[int, list[Shape]],
    children: Mapping[int, Sequence[int]],
    paths: Paths,
) -> Shape:
    """Return the shape of the values found at a path."""
    found = Shape(Kind.NULL)
    own = kinds.get(path, [])
    if path == 0:
        own = sorted(own, key=lambda shape: shape.kind is not Kind.OBJECT)
    for each in own:
        shape = each
        if each.kind in (Kind.OBJECT, Kind.LIST) and paths.modes[path] == op.CLOSED:
            shape = Shape(Kind.TEXT)
        elif each.kind is Kind.OBJECT:
            members = {
                _name(child, paths): _shape(child, kinds, children, paths)
                for child in children.get(path, [])
            }
            shape = Shape(Kind.OBJECT, members)
        elif each.kind is Kind.LIST:
            items = int(paths.items[path])
            below = Shape(Kind.NULL) if items < 0 else _shape(items, kinds, children, paths)
            shape = Shape(Kind.LIST, items=below)
        found = merged_shapes(found, shape)
    return found


def _name(path: int, paths: Paths) -> str:
    """Return the key under which a path's values are found in their objects."""
    return bytes(paths.keys[paths.key_starts[path] : paths.key_ends[path]]).decode()
