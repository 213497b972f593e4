"""Does the one-time work of a first run in advance."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.delta_jars import delta_jars
from seglake.environment.errors import SparkStartError, SparkUnpreparedError
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars
from seglake.environment.spark_connect import refuse_connect, running_context
from seglake.environment.spark_home import provide_pyspark, spark_home
from seglake.errors import WrongCallError
from seglake.settings.settings import SparkSettings

_KERNEL = "record_kernel.*.nbi"  # file name of the largest kernel's index in numba's cache
_LONGEST_SECONDS = 60
_COMPILING = "compiling the decoder, which only a first run does"


def warm_up(report: Callable[[str], None], *, with_s3: bool) -> None:
    """Compile the kernels, and fetch the JARs with which Spark reads Delta.

    Args:
        report: called with a line of text before each step.
        with_s3: whether to also fetch the JARs with which Spark reads S3.

    Raises:
        NoDeltaError: this Spark has no matching Delta. Everything else has been done.
        SparkUnpreparedError: no command could start a Spark on this machine; the kernels are
            compiled.
        SeglakeError: there is no Java, or the JARs cannot be fetched.
    """
    from seglake.segment_codec import warm as segments
    from seglake.value_codec import warm as values

    report("compiling the decoder (some ten seconds)")
    segments.warm()
    values.warm()
    environment = dict(os.environ)
    _require_spark(environment)
    report("looking for a Java")
    report(f"Java: {provide_java(environment)}")
    if with_s3:
        report("fetching the JARs with which Spark reads S3, unless they are there")
        s3_jars(environment, spark_home())
    report("fetching Delta's JARs for Spark, unless they are there")
    delta_jars(environment, spark_home())


def _require_spark(environment: Mapping[str, str]) -> None:
    try:
        refuse_connect(SparkSettings(), environment)
        provide_pyspark(environment)
    except (WrongCallError, SparkStartError) as error:
        raise SparkUnpreparedError(
            f"the decoder is compiled, but nothing is prepared for Spark: {error}"
        ) from error


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
