"""Many JSON texts as nodes that the kernel finds, and their bytes as Arrow arrays."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.decoded import ArrowArray, made, validity
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.kernels.arguments import in_one_form
from seglake.value_codec.kernels.json_operations import Paths, Stack, Tape, Work
from seglake.value_codec.reject_reasons import RejectReason

_MOST_PATHS = 20_000  # most paths of an inferred shape
_KEY_BYTES = 64  # average room for a path's key, in an inferred shape
_LEVELS = op.DEEPEST + 1
_REASONS = {
    op.BAD_JSON: RejectReason.BAD_JSON,
    op.BAD_UTF8: RejectReason.BAD_UTF8,
    op.DEPTH: RejectReason.DEPTH,
}


class Texts(NamedTuple):
    """Nodes of many texts.

    Attributes:
        data: bytes of all texts.
        tape: the nodes; only those used.
        roots: the root node of each text, -1 where it was rejected.
        reasons, positions: as in `Decoded`.
    """

    data: NDArray[np.uint8]
    tape: Tape
    roots: NDArray[np.int64]
    reasons: NDArray[np.uint8]
    positions: NDArray[np.int64]


def growing_paths() -> Paths:
    """Return paths with only the root; each new key adds one."""
    return new_paths(_MOST_PATHS, _MOST_PATHS * _KEY_BYTES)


def new_paths(count: int, key_bytes: int) -> Paths:
    """Return paths with only the root, and with memory for `count` paths."""
    return Paths(
        slots=np.full(1 << (2 * count).bit_length(), op.NO_PATH, np.int32),
        parents=np.zeros(count, np.int64),
        modes=np.zeros(count, np.int64),
        items=np.full(count, op.NO_PATH, np.int64),
        depths=np.zeros(count, np.int64),
        counts=np.zeros(count, np.int64),
        key_starts=np.zeros(count, np.int64),
        key_ends=np.zeros(count, np.int64),
        keys=np.zeros(max(key_bytes, 1), np.uint8),
        used=np.array([1, 0, 1], np.int64),
    )


def read_nodes(bodies: Bodies, paths: Paths) -> Texts:
    """Return the nodes of texts: only at known paths, or at all paths if new ones may be added.

    Args:
        bodies: the texts.
        paths: the known paths.
    """
    from seglake.value_codec.kernels.json_tape import most_nodes, read_texts  # imports numba, 0.2 s

    data, starts, ends = in_one_form(bodies)
    tape = _tape(most_nodes(data, starts, ends))
    outcomes, positions, firsts = np.empty((3, len(starts)), np.int64)
    longest = int((ends - starts).max(initial=0))
    stack = Stack(*np.zeros((4, _LEVELS), np.int64))
    scratch = np.empty(longest + 1, np.uint8)
    work = Work(tape, paths, stack, scratch, np.zeros(5, np.int64))
    read_texts(data, starts, ends, work, firsts, outcomes, positions)
    reasons = np.zeros(len(starts), np.uint8)
    for outcome, reason in _REASONS.items():
        reasons[outcomes == outcome] = reason.code
    used = Tape._make([*(each[: tape.used[0]] for each in tape[:-1]), tape.used])
    roots = np.where(outcomes == op.OK, firsts, -1)
    return Texts(bodies.data, used, roots, reasons, positions)


def _tape(room: int) -> Tape:
    """Return an empty tape with memory for this many nodes."""
    narrow = [np.empty(room, np.uint8), np.empty(room, np.int32)]
    return Tape._make([*narrow, *np.empty((6, room), np.int64), np.zeros(1, np.int64)])


def strings_of(texts: Texts, nodes: NDArray[np.int64], are_valid: NDArray[np.bool_]) -> ArrowArray:
    """Return strings without their escapes, or null.

    Args:
        texts: the texts.
        nodes: the node of each string.
        are_valid: whether each string is not null; else its node may be any number.
    """
    rows = np.flatnonzero(are_valid)
    starts, ends = np.zeros((2, len(nodes)), np.int64)
    are_escaped = np.zeros(len(nodes), np.bool_)
    starts[rows], ends[rows] = texts.tape.starts[nodes[rows]], texts.tape.ends[nodes[rows]]
    are_escaped[rows] = texts.tape.kinds[nodes[rows]] == op.ESCAPED_STRING
    return text_slices(Bodies(texts.data, starts, ends), are_escaped, are_valid)


def json_texts_of(
    texts: Texts, nodes: NDArray[np.int64], are_valid: NDArray[np.bool_]
) -> ArrowArray:
    """Return the JSON text of nodes as it was written, or null; see `strings_of`."""
    rows = np.flatnonzero(are_valid)
    starts, ends = np.zeros((2, len(nodes)), np.int64)
    kinds = texts.tape.kinds[nodes[rows]]
    quotes = (kinds >= op.STRING) & (kinds <= op.ODD_STRING)
    starts[rows] = texts.tape.starts[nodes[rows]] - quotes
    ends[rows] = texts.tape.ends[nodes[rows]] + quotes
    return text_slices(Bodies(texts.data, starts, ends), are_valid=are_valid)


def text_slices(
    found: Bodies,
    are_escaped: NDArray[np.bool_] | None = None,
    are_valid: NDArray[np.bool_] | None = None,
) -> ArrowArray:
    """Return texts as strings, with escapes replaced and null where not valid.

    Without `are_escaped`, nothing is replaced; without `are_valid`, nothing is null.
    """
    from seglake.value_codec.kernels.json_texts import copy_strings  # imports numba

    data, starts, ends = in_one_form(found)
    escaped = np.zeros(len(starts), np.bool_) if are_escaped is None else are_escaped
    out = np.empty(int((ends - starts).sum()), np.uint8)
    offsets = np.zeros(len(starts) + 1, np.int32)
    copy_strings(data, starts, ends, escaped, out, offsets)
    bits = None if are_valid is None else validity(are_valid)
    buffers = [bits, pa.py_buffer(offsets.data), pa.py_buffer(out.data)]
    return made(pa.string(), len(starts), buffers)
