"""Arrays and numbers that the compiled loop over JSON shares with its callers, without numba."""

from typing import Any, NamedTuple

Array = Any  # numba compiles for the types of the arguments

NULL, FALSE, TRUE, INTEGER, BIG_NUMBER, FLOAT, STRING, ESCAPED_STRING, ODD_STRING, ARRAY, OBJECT = (
    range(11)
)
"""Kinds of a node. BIG_NUMBER: integer beyond int64. ODD_STRING: string with half a surrogate."""

OK, BAD_JSON, BAD_UTF8, DEPTH = range(4)
"""Outcomes of reading one JSON text."""

PLAIN, MAP, CLOSED = range(3)
"""Modes of a path. MAP: members have the path of the items. CLOSED: its content has no nodes."""

MOST_KEYS = 1000
"""Maximum number of different keys of an object while types are inferred.

The path of an object with more keys is closed.
"""

MOST_LEVELS = 32
"""Maximum number of levels of a type; deeper values get no nodes while types are inferred."""

DEEPEST = 1000
"""Most levels of nesting that a JSON text may have."""

NO_PATH = -1


class Paths(NamedTuple):
    """Paths, and a hash table that finds the path of a member.

    Attributes:
        slots: paths by hash, -1 where free; their number is a power of 2.
        parents, modes, items, depths, counts: of each path; `items` is the path of an array's items
            or a map's values, -1 if there is none; `counts` the number of different keys.
        key_starts, key_ends: of each path, its key among `keys`.
        keys: the keys without escapes, in UTF-8.
        used: number of paths, number of bytes of `keys`, and 1 if new keys get new paths.
    """

    slots: Array
    parents: Array
    modes: Array
    items: Array
    depths: Array
    counts: Array
    key_starts: Array
    key_ends: Array
    keys: Array
    used: Array


class Tape(NamedTuple):
    """Nodes in the order of the texts.

    Attributes:
        kinds, paths, parents: of each node; the parent is a node, or -1 of a root.
        starts, ends: bytes of each node; of a string without its quotes.
        values: integers; of an object or array the number of its members or items.
        key_starts, key_ends: bytes of the key of a member, without quotes.
        used: number of nodes.
    """

    kinds: Array
    paths: Array
    parents: Array
    starts: Array
    ends: Array
    values: Array
    key_starts: Array
    key_ends: Array
    used: Array


class Stack(NamedTuple):
    """Open objects and arrays: their nodes (-1 for none), paths, whether objects, and counts."""

    nodes: Array
    paths: Array
    are_objects: Array
    counts: Array


class Work(NamedTuple):
    """Arrays that the reading of texts needs.

    Attributes:
        tape: gets the nodes.
        paths: the known paths; new ones are added if they may be.
        stack: has room for `DEEPEST` levels.
        scratch: has room for the bytes of the longest text.
        at: place in the text: state, depth, path, start and end of the last key.
    """

    tape: Tape
    paths: Paths
    stack: Stack
    scratch: Array
    at: Array
