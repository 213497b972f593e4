"""Builds the columns of a shape from the parsed nodes of many JSON texts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.decoded import ArrowArray, made, validity
from seglake.value_codec.json.scalars import scalars
from seglake.value_codec.json.shapes import Kind, Shape, arrow_type, member_fields
from seglake.value_codec.json.texts import Texts, json_texts_of, new_paths, text_slices
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.kernels.json_operations import Paths

NO_NODE = -1


class Place(NamedTuple):
    """A settled shape (see `settled`), and its path among the paths that the kernel knows."""

    shape: Shape
    path: int
    members: Mapping[str, "Place"]
    items: "Place | None"


class Column(NamedTuple):
    """A column.

    Attributes:
        values: the column's values.
        fits: for each value, whether the column has the complete value.
    """

    values: ArrowArray
    fits: NDArray[np.bool_]


def placed(root: Shape) -> tuple[Place, Paths]:
    """Return a settled shape (see `settled`) with the path of each part, and all paths."""
    keys = _keys(root)
    paths = new_paths(len(keys) + 1, sum(len(key.encode()) for key in keys))
    place = _place(root, 0, paths)
    paths.used[2] = 0  # known paths only: the kernel adds none
    return place, paths


def _keys(shape: Shape) -> list[str]:
    """Return the keys of a shape at all levels; the key of a list's items is empty."""
    below = [*shape.members.items(), *([("", shape.items)] if shape.items else [])]
    return [key for name, member in below for key in (name, *_keys(member))]


def _place(shape: Shape, path: int, paths: Paths) -> Place:
    """Return a shape with its path, and add the paths of all its parts."""
    # Imports numba, which takes 0.2 s.
    from seglake.value_codec.kernels.json_paths import add_items, add_member

    members, items = {}, None
    paths.counts[path] = paths.depths[path] = 0  # a known shape is not limited in size or depth
    if shape.items is not None:
        items = _place(shape.items, add_items(paths, path), paths)
    if shape.kind is Kind.MAP:
        paths.modes[path] = op.MAP
    for key, member in shape.members.items():
        paths.counts[path] = 0
        name = np.frombuffer(key.encode(), np.uint8)
        members[key] = _place(member, add_member(paths, path, name), paths)
    return Place(shape, path, members, items)


def bytes_of(root: Place, texts: Texts) -> int:
    """Return the memory for the entries of all columns, without the bytes of texts.

    An object in a list has an entry in each column below the list, whichever members it has.
    """
    entries = np.bincount(texts.tape.paths, minlength=1)
    entries[0] = len(texts.roots)  # a text that is rejected has entries, too
    columns = np.zeros(len(entries), np.int64)  # by the path that has an entry for each node
    _count_columns(root, root.path, columns)
    return _ENTRY_BYTES * int(entries @ columns)


def _count_columns(place: Place, level: int, columns: NDArray[np.int64]) -> None:
    """Add the columns of a place and of all places below it.

    Args:
        place: the place.
        level: path of the items that have an entry each in the place's columns.
        columns: is added to.
    """
    if level < len(columns):  # else there is no such item
        columns[level] += 1 + place.shape.has_text
        for member in place.members.values():
            _count_columns(member, level, columns)
        if place.items is not None:
            _count_columns(place.items, place.items.path, columns)


_ENTRY_BYTES = 9  # a number, or the offset and the length of a text; and whether it is null
_GREATEST_INT16 = (1 << 15) - 1


class Columns:
    """Builder of Arrow columns from the nodes of JSON texts."""

    def __init__(self, texts: Texts) -> None:
        """Sort the nodes by path."""
        self._texts = texts
        self._kinds = texts.tape.kinds
        paths = texts.tape.paths
        if paths.max(initial=0) <= _GREATEST_INT16:  # numpy sorts int16 without comparisons
            paths = paths.astype(np.int16)
        self._order = np.argsort(paths, kind="stable")
        self._sorted = paths[self._order]
        self._slots = np.full(len(self._kinds), NO_NODE, np.int64)

    def of(self, place: Place, nodes: NDArray[np.int64]) -> Column:
        """Return the typed column of a place.

        Args:
            place: the place.
            nodes: the node of each slot of the column, NO_NODE for none.
        """
        kind = place.shape.kind
        if kind is Kind.OBJECT:
            return self._object(place, nodes)
        if kind in (Kind.LIST, Kind.MAP) and place.items is not None:
            return self._list(place, place.items, nodes)
        are_valid = self.are(nodes, op.NULL, is_other=True)
        return Column(*scalars(self._texts, place.shape, nodes, are_valid))

    def texts_of(self, nodes: NDArray[np.int64], are_valid: NDArray[np.bool_]) -> ArrowArray:
        """Return the JSON texts of nodes as they were written; null where they are not valid."""
        return json_texts_of(self._texts, nodes, are_valid)

    def member_columns(
        self, place: Place, nodes: NDArray[np.int64]
    ) -> tuple[list[ArrowArray], NDArray[np.bool_]]:
        """Return the columns of an object's members, as `member_fields` names them, and the fit.

        Args:
            place: the object's place.
            nodes: the node of each object, NO_NODE where the columns get null.
        """
        slots = np.flatnonzero(nodes >= 0)
        self._slots[nodes[slots]] = slots
        counts = np.zeros(len(nodes), np.int64)
        counts[slots] = self._texts.tape.values[nodes[slots]]
        fits = np.ones(len(nodes), np.bool_)
        columns: list[ArrowArray] = []
        for member in place.members.values():
            found = np.full(len(nodes), NO_NODE, np.int64)
            below, parents = self._below(member)
            found[parents] = below  # of a repeated key, the last value counts
            counts -= found >= 0
            columns += self._member(member, found, fits)
        return columns, fits & (counts == 0)

    def _member(
        self, member: Place, nodes: NDArray[np.int64], fits: NDArray[np.bool_]
    ) -> list[ArrowArray]:
        """Return the columns of a member; record in `fits` the values that do not fit."""
        shape, columns = member.shape, []
        unfit = self.are(nodes, op.NULL, is_other=True)
        if shape.kind not in (Kind.NULL, Kind.TEXT):
            column = self.of(member, nodes)
            unfit = ~column.fits
            columns.append(column.values)
            if shape.has_text and unfit.any():
                rows: Any = pa.array(np.arange(len(nodes)), mask=unfit)
                columns = [column.values.take(rows)]  # null if the column cannot hold the value
        if shape.has_text or shape.kind is Kind.TEXT:
            columns.append(self.texts_of(nodes, unfit))
        else:
            fits &= ~unfit
        return columns

    def _object(self, place: Place, nodes: NDArray[np.int64]) -> Column:
        """Return a column of structs, for JSON objects at a place."""
        are_objects = self.are(nodes, op.OBJECT)
        columns, fits = self.member_columns(place, np.where(are_objects, nodes, NO_NODE))
        fields = member_fields(place.shape.members)
        values = pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~are_objects))
        return Column(values, fits & (are_objects | ~self.are(nodes, op.NULL, is_other=True)))

    def _list(self, place: Place, items: Place, nodes: NDArray[np.int64]) -> Column:
        """Return a column of lists or maps, for JSON arrays or objects at a place."""
        is_map = place.shape.kind is Kind.MAP
        are_lists = self.are(nodes, op.OBJECT if is_map else op.ARRAY)
        slots = np.flatnonzero(are_lists)
        self._slots[nodes[slots]] = slots
        below, parents = self._below(items)
        counts = np.bincount(parents, minlength=len(nodes))
        offsets = np.zeros(len(nodes) + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        column = self.of(items, below)
        fits = are_lists | ~self.are(nodes, op.NULL, is_other=True)
        fits[parents[~column.fits]] = False
        buffers = [validity(are_lists), pa.py_buffer(offsets.data)]
        if is_map:
            fits[slots[self._texts.tape.values[nodes[slots]] != counts[slots]]] = False
            column = column._replace(values=self._entries(place, below, column.values))
        kind = arrow_type(place.shape)
        return Column(made(kind, len(nodes), buffers, [column.values]), fits)

    def _entries(self, place: Place, nodes: NDArray[np.int64], values: ArrowArray) -> ArrowArray:
        """Return the entries of a column of maps: keys and values."""
        tape, are_escaped = self._texts.tape, np.ones(len(nodes), np.bool_)
        found = Bodies(self._texts.data, tape.key_starts[nodes], tape.key_ends[nodes])
        keys = text_slices(found, are_escaped)
        kind: Any = arrow_type(place.shape)
        return pa.StructArray.from_arrays([keys, values], fields=[kind.key_field, kind.item_field])

    def _below(self, place: Place) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes at a place whose parents have slots, and these slots."""
        path = self._sorted.dtype.type(place.path)
        first = np.searchsorted(self._sorted, path)
        end = np.searchsorted(self._sorted, path, side="right")
        nodes = self._order[first:end]
        parents = self._slots[self._texts.tape.parents[nodes]]
        if (parents >= 0).all():
            return nodes, parents
        return nodes[parents >= 0], parents[parents >= 0]

    def are(
        self, nodes: NDArray[np.int64], kind: int, *, is_other: bool = False
    ) -> NDArray[np.bool_]:
        """Return which nodes exist and have this kind; with `is_other`, any other kind."""
        if not len(self._kinds):
            return np.zeros(len(nodes), np.bool_)
        are_of_kind = self._kinds[np.maximum(nodes, 0)] == kind
        found: NDArray[np.bool_] = (nodes >= 0) & (are_of_kind != is_other)
        return found
