"""Builds columns of booleans, numbers, strings and bytes from JSON nodes."""

import base64
import binascii
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.decoded import ArrowArray
from seglake.value_codec.json.numbers import doubles_of, floats_of, integers_of
from seglake.value_codec.json.shapes import Kind, Shape, arrow_type
from seglake.value_codec.json.texts import Texts, strings_of
from seglake.value_codec.kernels import json_operations as op

# First and last day of the years 0001 to 9999, from 1970-01-01.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}  # number of ticks in a day, by unit
_MOST_CHARACTERS = 100  # longest text of a number that may become a decimal
_MOST_BITS = 127  # most bits of a decimal's unscaled value, for 38 digits
_CONTEXT = Context(prec=_MOST_CHARACTERS)
_STRINGS = (op.STRING, op.ESCAPED_STRING)


def scalars(
    texts: Texts, shape: Shape, nodes: NDArray[np.int64], are_valid: NDArray[np.bool_]
) -> tuple[ArrowArray, NDArray[np.bool_]]:
    """Return a column, and whether it holds each value.

    Args:
        texts: the texts.
        shape: shape of a scalar.
        nodes: the node of each slot.
        are_valid: whether each slot has a node that is not null.
    """
    valid = np.flatnonzero(are_valid)
    some = nodes[valid]
    fits = np.ones(len(nodes), np.bool_)
    if shape.kind is Kind.STRING:
        fits[valid] = np.isin(texts.tape.kinds[some], _STRINGS)
        held = are_valid & fits
        return strings_of(texts, nodes, held), fits
    if shape.kind in (Kind.BYTES, Kind.DECIMAL):
        return _read_alone(texts, shape, nodes, valid)
    content, fits[valid] = _numbers(texts, shape, some)
    values = np.zeros(len(nodes), content.dtype)
    values[valid] = content
    column: Any = pa.array(values, mask=~(are_valid & fits))
    return column.cast(_plain(arrow_type(shape))).view(arrow_type(shape)), fits


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the number type in which a column of this type is stored."""
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return kind


def _numbers(texts: Texts, shape: Shape, nodes: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return numbers or booleans of nodes, and whether the column's type holds each of them."""
    if shape.kind is Kind.BOOLEAN:
        kinds = texts.tape.kinds[nodes]
        return kinds == op.TRUE, (kinds == op.TRUE) | (kinds == op.FALSE)
    if shape.kind is Kind.NUMBER:
        return (doubles_of if shape.type is None else floats_of)(texts, nodes)
    integers, are_integers = integers_of(texts, nodes)
    first, last = _range(arrow_type(shape))
    fitting = are_integers & (integers >= first) & (integers <= last)
    return np.where(fitting, integers, 0), fitting


def _range(kind: Any) -> tuple[int, int]:
    """Return the lowest and the highest number of a type; dates end with the year 9999."""
    if pa.types.is_date32(kind):
        return _FIRST_DAY, _LAST_DAY
    if pa.types.is_timestamp(kind) and kind.unit in _TICKS:
        ticks = _TICKS[kind.unit]
        return _FIRST_DAY * ticks, (_LAST_DAY + 1) * ticks - 1
    limit = 1 << (kind.bit_width - 1)
    return -limit, limit - 1


def _read_alone(
    texts: Texts, shape: Shape, nodes: NDArray[np.int64], valid: NDArray[np.int64]
) -> tuple[ArrowArray, NDArray[np.bool_]]:
    """Return a column of bytes or decimals, which are read one by one."""
    kind: Any = arrow_type(shape)
    fits = np.ones(len(nodes), np.bool_)
    cells: list[bytes | Decimal | None] = [None] * len(nodes)
    are_strings = np.zeros(len(nodes), np.bool_)
    are_strings[valid] = np.isin(texts.tape.kinds[nodes[valid]], _STRINGS)
    strings = strings_of(texts, nodes, are_strings).to_pylist()
    for row in valid.tolist():
        text = strings[row]
        if text is not None:
            found = _from_base64(text)
            cell = found if shape.kind is Kind.BYTES or found is None else _unscaled(found, kind)
        else:
            cell = _written(texts, int(nodes[row]), kind) if shape.kind is Kind.DECIMAL else None
        cells[row] = cell
        fits[row] = cell is not None
    return pa.array(cells, kind), fits


def _from_base64(text: str) -> bytes | None:
    """Return the bytes of a text in base64, None if it is none."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if base64.b64encode(found).decode() == text else None


# Any: pyarrow's stubs do not know the scale of a type.
def _unscaled(content: bytes, kind: Any) -> Decimal | None:
    """Return the decimal of unscaled bytes, None if it has too many digits."""
    if not content:
        return None
    number = int.from_bytes(content, "big", signed=True)
    if number.bit_length() > _MOST_BITS:  # a Decimal of very many digits takes long to make
        return None
    return _within(Decimal(number).scaleb(-kind.scale, _CONTEXT), kind)


def _written(texts: Texts, node: int, kind: Any) -> Decimal | None:
    """Return the decimal of a number, None if it is no number or does not fit the type."""
    if texts.tape.kinds[node] not in (op.INTEGER, op.BIG_NUMBER, op.FLOAT):
        return None
    text = texts.data[texts.tape.starts[node] : texts.tape.ends[node]].tobytes().decode()
    if len(text) > _MOST_CHARACTERS:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:  # Python's decimals have no such exponent
        return None
    return _within(number, kind)


def _within(number: Decimal, kind: Any) -> Decimal | None:
    """Return a number if the type can hold all of its digits; else None."""
    if number.adjusted() >= kind.precision - kind.scale and number:
        return None
    whole = number.quantize(Decimal(1).scaleb(-kind.scale), context=_CONTEXT)
    return whole if whole == number else None
