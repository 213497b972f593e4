"""Compiles loops over arrays with numba: the kernels of `segment_codec` and `value_codec`."""

from collections.abc import Callable
from typing import Any

import numba

Array = Any  # numba infers the types of arguments
Int = Any  # a machine integer; the kernels state its width

# The loops allocate nothing, so numba need not count references.
# Counting makes the loops three times slower: two atomic instructions for each access.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}  # numba's stubs lack some options
_INLINED = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(kernel: Callable[..., Any]) -> Any:  # numba's type is unknown to mypy
    """Return the kernel, which is compiled at its first call and cached for other processes.

    If numba can write neither beside the code nor in the home folder, each process compiles it.
    """
    try:
        return numba.njit(cache=True, **_OPTIONS)(kernel)
    except RuntimeError:  # there is no folder for the cache
        return numba.njit(**_OPTIONS)(kernel)


def inlined(kernel: Callable[..., Any]) -> Any:  # numba's type is unknown to mypy
    """Return a function that kernels call and LLVM inlines; Python cannot call it."""
    return numba.njit(**_INLINED)(kernel)
