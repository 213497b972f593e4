"""Paths in the compiled loop over JSON: the places of a type, found by key.

A path is the root, a member of an object, or all items of an array. While types are inferred, new
keys make new paths; while values are read, only known ones count.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.json_operations import (
    CLOSED,
    MOST_KEYS,
    MOST_LEVELS,
    NO_PATH,
    PLAIN,
    Paths,
)

_HASH_START, _HASH_FACTOR = 0xCBF29CE484222325, 0x100000001B3


@inlined
def path_of_member(paths: Paths, parent: Int, key: Array, p: Int, stop: Int) -> Int:
    """Return the path of a member by its key, which has no escapes; NO_PATH if there is none."""
    value = np.uint64(_HASH_START) ^ np.uint64(parent)
    for index in range(p, stop):
        value = (value ^ np.uint64(key[index])) * np.uint64(_HASH_FACTOR)
    mask = np.int64(len(paths.slots) - 1)
    slot = np.int64((value ^ (value >> np.uint64(32))) & np.uint64(mask))
    while paths.slots[slot] >= 0:
        path = np.int64(paths.slots[slot])
        start = paths.key_starts[path]
        if paths.parents[path] == parent and paths.key_ends[path] - start == stop - p:
            is_same = True
            for index in range(stop - p):
                if paths.keys[start + index] != key[p + index]:
                    is_same = False
                    break
            if is_same:
                return path
        slot = (slot + 1) & mask
    return _new_member(paths, parent, key, p, stop, slot)


@inlined
def _new_member(paths: Paths, parent: Int, key: Array, p: Int, stop: Int, slot: Int) -> Int:
    """Add a path for a new key, unless paths are fixed or the arrays of paths are full."""
    at = np.int64(paths.used[1])
    is_full = paths.used[0] >= len(paths.parents) or stop - p > len(paths.keys) - at
    if paths.used[2] == 0 or is_full:
        return np.int64(NO_PATH)
    if paths.counts[parent] >= MOST_KEYS:
        paths.modes[parent] = CLOSED
        return np.int64(NO_PATH)
    paths.counts[parent] += 1
    for index in range(stop - p):
        paths.keys[at + index] = key[p + index]
    path = _new_path(paths, parent)
    paths.key_starts[path], paths.key_ends[path] = at, at + stop - p
    paths.used[1] = at + stop - p
    paths.slots[slot] = path
    return path


@inlined
def _new_path(paths: Paths, parent: Int) -> Int:
    """Make a new path below `parent`, and return it."""
    path = np.int64(paths.used[0])
    paths.used[0] = path + 1
    paths.parents[path] = parent
    paths.depths[path] = paths.depths[parent] + 1
    if paths.depths[path] >= MOST_LEVELS:
        paths.modes[path] = CLOSED
    return path


@inlined
def path_of_items(paths: Paths, parent: Int) -> Int:
    """Return the path of all items of an array."""
    if parent < 0 or paths.modes[parent] != PLAIN:
        return np.int64(NO_PATH)
    if paths.items[parent] < 0 and paths.used[2] != 0 and paths.used[0] < len(paths.parents):
        paths.items[parent] = _new_path(paths, parent)
    return np.int64(paths.items[parent])


@compiled
def add_member(paths: Paths, parent: Int, key: Array) -> Int:
    """Return the path of a member by its key; create an unknown path."""
    return path_of_member(paths, np.int64(parent), key, np.int64(0), np.int64(len(key)))


@compiled
def add_items(paths: Paths, parent: Int) -> Int:
    """Return the path of all items of an array; create an unknown path."""
    return path_of_items(paths, np.int64(parent))
