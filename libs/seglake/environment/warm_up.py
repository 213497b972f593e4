"""Does in advance the one-time work of a first run. Effect."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.delta_jars import delta_jars
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars
from seglake.environment.spark_home import spark_home

_KERNEL = "record_kernel.*.nbi"  # the index of numba's cache for the largest kernel
_LONGEST_SECONDS = 60
_COMPILING = "compiling the decoder, which only a first run does"


def warm_up(report: Callable[[str], None], *, with_s3: bool) -> None:
    """Compile the kernels, and fetch the JARs with which Spark reads Delta.

    Args:
        report: called with a line of text before each step.
        with_s3: fetch also the JARs with which Spark reads S3.

    Raises:
        NoDeltaError: no Delta fits this Spark; everything else is done.
        SeglakeError: there is no Java, or the JARs cannot be fetched.
    """
    from seglake.segment_codec.warm import warm

    report("compiling the decoder (some ten seconds)")
    warm()
    environment = dict(os.environ)
    report("looking for a Java")
    report(f"Java: {provide_java(environment)}")
    if with_s3:
        report("fetching the JARs with which Spark reads S3, unless they are there")
        s3_jars(environment, spark_home())
    report("fetching Delta's JARs for Spark, unless they are there")
    delta_jars(environment, spark_home())


def compilation_hint(environment: Mapping[str, str]) -> Callable[[], str]:
    """Return a function that returns a hint while a run waits for the decoder's compilation.

    The hint is empty once the kernels are compiled, or after a minute.

    Args:
        environment: the variables of the process.
    """
    begun = 0.0
    is_over = False  # also if the minute has passed, as numba's cache may be read-only

    def hint() -> str:
        nonlocal begun, is_over
        begun = begun or time.monotonic()
        is_too_long = time.monotonic() - begun > _LONGEST_SECONDS
        is_over = is_over or is_too_long or kernels_are_compiled(environment)
        return "" if is_over else _COMPILING

    return hint


def kernels_are_compiled(environment: Mapping[str, str]) -> bool:
    """Return whether numba's cache has the kernels, possibly of another version of the code.

    The places are those of numba: the folder of its variable, beside the code, the user's cache.

    Args:
        environment: the variables of the process.
    """
    if folder := environment.get("NUMBA_CACHE_DIR"):
        return any(Path(folder).rglob(_KERNEL))
    codec = find_spec("seglake.segment_codec.kernels")
    beside = Path(codec.origin or "").with_name("__pycache__") if codec is not None else Path()
    cache = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/"), ".cache"))
    return any(beside.glob(_KERNEL)) or any(Path(cache, "numba").rglob(_KERNEL))
