"""Effect: does ahead what the first run after an install would wait for."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.delta_jars import delta_jars
from seglake.environment.jar_fetch import spark_home
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars

_KERNEL = "record_kernel.*.nbi"  # the index of numba's cache for the largest kernel
_LONGEST_SECONDS = 60
_COMPILING = "compiling the decoder, which only a first run does"


def warm_up(tell: Callable[[str], None], *, with_s3: bool) -> None:
    """Compile the kernels, and fetch the JARs with which Spark reads Delta.

    Args:
        tell: called with a line of text before each step.
        with_s3: fetch also those with which Spark reads S3.

    Raises:
        SeglakeError: there is no Java, or the JARs cannot be fetched.
    """
    from seglake.segment_codec.warm import warm

    tell("compiling the decoder (some ten seconds)")
    warm()
    environment = dict(os.environ)
    tell("looking for a Java")
    tell(f"Java: {provide_java(environment)}")
    tell("fetching Delta's JARs for Spark, unless they are there")
    delta_jars(environment, spark_home())
    if with_s3:
        tell("fetching the JARs with which Spark reads S3, unless they are there")
        s3_jars(environment, spark_home())


def compilation_hint(environment: Mapping[str, str]) -> Callable[[], str]:
    """What tells, as long as that is so, that a run also waits for the decoder's compilation."""
    begun = 0.0
    is_over = False  # or nothing comes of it, where numba's cache cannot be written

    def hint() -> str:
        nonlocal begun, is_over
        begun = begun or time.monotonic()
        is_too_long = time.monotonic() - begun > _LONGEST_SECONDS
        is_over = is_over or is_too_long or kernels_are_compiled(environment)
        return "" if is_over else _COMPILING

    return hint


def kernels_are_compiled(environment: Mapping[str, str]) -> bool:
    """Look for numba's cache where numba itself would: where it is told, beside the code, or in
    the user's folder. Whether it is of this version of the code is not looked at."""
    if folder := environment.get("NUMBA_CACHE_DIR"):
        return any(Path(folder).rglob(_KERNEL))
    codec = find_spec("seglake.segment_codec.kernels")
    beside = Path(codec.origin or "").with_name("__pycache__") if codec is not None else Path()
    cache = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/"), ".cache"))
    return any(beside.glob(_KERNEL)) or any(Path(cache, "numba").rglob(_KERNEL))
