"""Does the one-time work of a first run in advance."""

import os
from collections.abc import Callable, Mapping

from seglake.environment.delta_jars import delta_jars
from seglake.environment.errors import SparkStartError, SparkUnpreparedError
from seglake.environment.java_home import provide_java
from seglake.environment.s3_jars import s3_jars
from seglake.environment.spark_connect import refuse_connect
from seglake.environment.spark_home import provide_pyspark, spark_home
from seglake.errors import WrongCallError
from seglake.settings.settings import SparkSettings


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
