"""Envelopes of Kafka Connect's JSON converter: where each message's schema and payload are.

A message is an object of two members, `{"schema": ..., "payload": ...}`. JSON of another form has
no frame. Source: JsonConverter of Kafka 4.3.0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.json.columns import placed
from seglake.value_codec.json.shapes import Kind, Shape
from seglake.value_codec.json.texts import Texts, read_nodes
from seglake.value_codec.kernels import json_operations as op
from seglake.value_codec.reject_reasons import RejectReason

_MEMBERS = ("schema", "payload")


class Envelopes(NamedTuple):
    """Envelopes of many messages.

    Attributes:
        texts: the distinct texts of schemas.
        schemas: index of each message's schema in `texts`; -1 where it was rejected.
        starts: index of each payload's first byte.
        ends: index after each payload's last byte.
        reasons, positions: as in `Decoded`.
    """

    texts: list[bytes]
    schemas: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reasons: NDArray[np.uint8]
    positions: NDArray[np.int64]


def envelopes(messages: Bodies) -> Envelopes:
    """Return the envelopes of messages."""
    data, count = messages.data, len(messages.starts)
    place, paths = placed(Shape(Kind.OBJECT, {name: Shape(Kind.STRING) for name in _MEMBERS}))
    texts = read_nodes(messages, paths)
    schemas, payloads = (_members(texts, place.members[name].path) for name in _MEMBERS)
    is_whole = _has_two(texts) & (schemas >= 0) & (payloads >= 0)
    reasons = np.where((texts.roots >= 0) & ~is_whole, RejectReason.NO_FRAME.code, texts.reasons)
    rows = np.flatnonzero(is_whole)
    schema_starts, schema_ends = _bounds(texts, schemas[rows])
    found: dict[bytes, int] = {}
    numbers = np.full(count, -1, np.int64)
    for row, first, after in zip(rows, schema_starts, schema_ends, strict=True):
        numbers[row] = found.setdefault(data[first:after].tobytes(), len(found))
    payload_starts, payload_ends = np.zeros((2, count), np.int64)
    payload_starts[rows], payload_ends[rows] = _bounds(texts, payloads[rows])
    return Envelopes(
        [*found], numbers, payload_starts, payload_ends, reasons.astype(np.uint8), texts.positions
    )


def _members(texts: Texts, path: int) -> NDArray[np.int64]:
    """Return the node of the member at a path, for each message; -1 without such a member."""
    nodes = np.flatnonzero(texts.tape.paths == path)
    of_root = np.full(len(texts.tape.kinds) + 1, -1, np.int64)
    of_root[texts.tape.parents[nodes]] = nodes
    found: NDArray[np.int64] = of_root[texts.roots]
    return found


def _has_two(texts: Texts) -> NDArray[np.bool_]:
    """Return which messages are objects of two members."""
    found = np.zeros(len(texts.roots), np.bool_)
    rows = np.flatnonzero(texts.roots >= 0)
    roots = texts.roots[rows]
    is_object = texts.tape.kinds[roots] == op.OBJECT
    found[rows] = is_object & (texts.tape.values[roots] == len(_MEMBERS))
    return found


def _bounds(texts: Texts, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and end of nodes in the data, quotes of strings included."""
    kinds = texts.tape.kinds[nodes]
    quotes = (kinds >= op.STRING) & (kinds <= op.ODD_STRING)
    return texts.tape.starts[nodes] - quotes, texts.tape.ends[nodes] + quotes
