"""Reads JSON numbers as doubles, floats and integers, and finds which are exact."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.json.texts import Texts, text_slices
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.kernels.arguments import in_one_form

_CERTAIN_DIGITS = 15  # a normal double keeps this number of digits exactly
_LEAST_EXPONENT, _GREATEST_EXPONENT = -290, 290
EXACT = 1 << 53
"""Largest number up to which all integers are exact as doubles."""

_FLOAT_DIGITS = 9  # Java writes floats with at most so many digits


def doubles_of(
    texts: Texts, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers as doubles, and whether each one is exact.

    A number is exact if the shortest text of its double means the same number: `0.1` is, `1e400`
    and `0.10000000000000001` are not. Nodes that are no numbers are not exact.
    """
    kinds = texts.tape.kinds[nodes]
    doubles = np.zeros(len(nodes))
    are_exact = np.zeros(len(nodes), np.bool_)
    integers = np.flatnonzero(kinds == op.INTEGER)
    values = texts.tape.values[nodes[integers]]
    doubles[integers] = values
    are_exact[integers] = (values <= EXACT) & (values >= -EXACT)
    large = (kinds == op.BIG_NUMBER) | ((kinds == op.INTEGER) & ~are_exact)
    written = np.flatnonzero((kinds == op.FLOAT) | large)
    doubles[written], are_exact[written] = _read(texts, nodes[written])
    return doubles, are_exact


def floats_of(
    texts: Texts, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return numbers as floats of 32 bits, and whether each one may be the text of a float.

    A number may be the text of a float if it is the float itself or has at most 9 digits. Only 0 is
    the text of the float 0.
    """
    doubles, are_exact = doubles_of(texts, nodes)
    with np.errstate(over="ignore"):
        floats = doubles.astype(np.float32)
    are_exact &= np.isfinite(floats)
    rounded = np.flatnonzero(are_exact & (floats != doubles))
    _, counts, _ = _significant(_written(texts, nodes[rounded]))
    are_exact[rounded] = (counts <= _FLOAT_DIGITS) & (floats[rounded] != 0)
    return floats, are_exact


def _read(texts: Texts, nodes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return written numbers as doubles, and whether each one is exact."""
    written = _written(texts, nodes)
    digits, counts, exponents = _significant(written)
    powers = exponents + counts  # the number is less than ten to this power
    is_inside = (powers >= -400) & (powers <= 309) & (counts < 99)
    doubles = np.zeros(len(nodes))
    inside = np.flatnonzero(is_inside)
    literals = text_slices(written.of(inside))
    doubles[inside] = pc.cast(literals, pa.float64()).to_numpy(zero_copy_only=False)
    is_certain = (counts <= _CERTAIN_DIGITS) & (powers > _LEAST_EXPONENT)
    is_certain &= powers < _GREATEST_EXPONENT
    are_exact = is_inside & np.isfinite(doubles)
    doubtful = np.flatnonzero(are_exact & ~is_certain)
    # Any: numpy's stubs do not know Arrow's buffers.
    shortest: Any = pc.cast(pa.array(doubles[doubtful]), pa.string())
    _, edges, content = shortest.buffers()
    bounds = np.frombuffer(edges or b"", np.int32)[: len(doubtful) + 1].astype(np.int64)
    again = _significant(Bodies(np.frombuffer(content or b"", np.uint8), bounds[:-1], bounds[1:]))
    same = (again[0] == digits[doubtful]) & (again[2] == exponents[doubtful])
    are_exact[doubtful] = same
    return doubles, are_exact


def _written(texts: Texts, nodes: NDArray[np.int64]) -> Bodies:
    """Return numbers as they are written."""
    return Bodies(texts.data, texts.tape.starts[nodes], texts.tape.ends[nodes])


def _significant(
    written: Bodies,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the digits, the number of digits and the exponents of numbers."""
    from seglake.value_codec.kernels.json_texts import significant_digits  # imports numba

    digits, counts, exponents = np.empty((3, len(written.starts)), np.int64)
    significant_digits(*in_one_form(written), digits, counts, exponents)
    return digits, counts, exponents


def integers_of(
    texts: Texts, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return numbers as integers, and whether they are: `1e3` and `1.0` are, `1.5` is not."""
    kinds = texts.tape.kinds[nodes]
    values = texts.tape.values[nodes].copy()
    are_integers = kinds == op.INTEGER
    written = np.flatnonzero(kinds == op.FLOAT)
    if len(written):
        doubles, are_exact = doubles_of(texts, nodes[written])
        whole = are_exact & (np.abs(doubles) <= EXACT) & (np.floor(doubles) == doubles)
        values[written] = np.where(whole, doubles, 0)
        are_integers[written] = whole
    return values, are_integers
