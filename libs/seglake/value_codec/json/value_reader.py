"""Reader of values written as JSON, for one shape."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.column_notes import named_field
from seglake.value_codec.decoded import MOST_BYTES, ArrowArray, Decoded, TooManyItemsError
from seglake.value_codec.json.columns import NO_NODE, Columns, Place, bytes_of, placed
from seglake.value_codec.json.shapes import (
    ROOT,
    ROOT_NAME,
    WHOLE,
    Kind,
    Shape,
    member_fields,
    settled,
)
from seglake.value_codec.json.texts import read_nodes
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.kernels.json_operations import Paths
from seglake.value_codec.reject_reasons import RejectReason


class JsonReader:
    """Reader of JSON values into the columns of a shape.

    A value is a struct: an object's members, or `value` if the shape is not an object. Its last
    field is `value__json`: the whole text of a value that the other columns do not hold completely,
    such as a value with a repeated key, an unknown key, or another root. Otherwise `value__json` is
    null.

    Attributes:
        is_object: whether the columns are those of an object's members.
    """

    def __init__(self, shape: Shape) -> None:
        """Find the columns of a shape."""
        root = settled(shape)
        self._root = root
        self.is_object = root.kind is Kind.OBJECT
        self._is_text = root.kind in (Kind.NULL, Kind.TEXT)
        members = root.members if self.is_object else {ROOT: replace(root, has_text=False)}
        self._fields = member_fields({} if self._is_text else members, is_root=True)
        if not self.is_object:
            self._fields = [named_field(ROOT, each.type, ROOT_NAME) for each in self._fields]
        self._fields.append(pa.field(WHOLE, pa.string()))

    @property
    def type(self) -> pa.DataType:
        """Return the Arrow type of the values, which is a struct."""
        return pa.struct(self._fields)

    @cached_property
    def _placed(self) -> tuple[Place, Paths]:
        """Return the shape with a path for each part; the paths are made at the first call."""
        return placed(self._root)

    def read(self, bodies: Bodies) -> Decoded:
        """Decode JSON texts; see `ColumnReader`."""
        place, paths = self._placed
        texts = read_nodes(bodies, paths)
        if bytes_of(place, texts) > MOST_BYTES:
            if len(bodies.starts) > 1:
                raise TooManyItemsError
            texts.reasons[0], texts.positions[0] = RejectReason.TOO_LARGE.code, 0
            texts.roots[0] = NO_NODE
        columns = Columns(texts)
        return Decoded(self._values(columns, place, texts.roots), texts.reasons, texts.positions)

    def _values(self, columns: Columns, place: Place, roots: NDArray[np.int64]) -> ArrowArray:
        """Return the structs of decoded roots; null where a value did not decode (NO_NODE)."""
        if self.is_object:
            objects = np.where(columns.are(roots, op.OBJECT), roots, NO_NODE)
            found, fits = columns.member_columns(place, objects)
            fits &= objects >= 0
        elif self._is_text:
            found, fits = [], np.zeros(len(roots), np.bool_)
        else:
            column = columns.of(place, roots)
            found, fits = [column.values], column.fits & ~columns.are(roots, op.NULL)
        are_sound = roots >= 0
        found = [*found, columns.texts_of(roots, are_sound & ~fits)]
        return pa.StructArray.from_arrays(found, fields=self._fields, mask=pa.array(~are_sound))
