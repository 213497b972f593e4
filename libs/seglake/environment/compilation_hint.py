"""Says that a first run compiles the decoder, while the kernels are not in numba's cache yet."""

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.spark_submit import running_context

_KERNEL = "record_kernel.*.nbi"  # file name of the largest kernel's index in numba's cache
_LONGEST_SECONDS = 60
_COMPILING = "compiling the decoder, which only a first run does"


def compilation_hint(environment: Mapping[str, str]) -> Callable[[], str]:
    """Return a function whose result is a hint while a run waits for the decoder's compilation.

    The hint is empty once the kernels are compiled, after a minute, and while Spark runs on other
    machines, which have other caches.

    Args:
        environment: the variables of the process.
    """
    begun = 0.0
    is_over = False  # give up after a minute: a read-only cache never gets the kernels

    def hint() -> str:
        nonlocal begun, is_over
        if _runs_on_a_cluster():
            return ""
        begun = begun or time.monotonic()
        is_too_long = time.monotonic() - begun > _LONGEST_SECONDS
        is_over = is_over or is_too_long or kernels_are_compiled(environment)
        return "" if is_over else _COMPILING

    return hint


def _runs_on_a_cluster() -> bool:
    context = running_context()
    # a context that is still starting has no master
    return context is not None and not getattr(context, "master", "").startswith("local")


def kernels_are_compiled(environment: Mapping[str, str]) -> bool:
    """Return whether numba's cache has compiled kernels, of this or another version of the code.

    The search covers the folders that numba uses: NUMBA_CACHE_DIR if it is set, else the folders
    beside the code and in the user's cache.

    Args:
        environment: the variables of the process.
    """
    if folder := environment.get("NUMBA_CACHE_DIR"):
        return any(Path(folder).rglob(_KERNEL))
    codec = find_spec("seglake.segment_codec.kernels")
    beside = Path(codec.origin or "").with_name("__pycache__") if codec is not None else Path()
    cache = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/"), ".cache"))
    return any(beside.glob(_KERNEL)) or any(Path(cache, "numba").rglob(_KERNEL))
