"""Opens the storages of a job with the properties that Spark would use.

Sources of properties, the weakest first: AWS's variables and profiles, Hadoop's files,
spark-defaults.conf or (under spark-submit) all of its properties, and the settings.
"""

import os

from seglake.environment.aws_environment import aws_variables
from seglake.environment.hadoop_files import SPARK_PREFIX, site_properties, spark_defaults
from seglake.environment.spark_submit import is_submitted
from seglake.settings.values import Properties
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages


def open_storages(properties: Properties) -> Storages:
    """Return the storage of all paths, local and remote.

    Args:
        properties: Spark's properties from the settings; `spark.hadoop.*` among them give access to
            stores.

    Raises:
        WrongCallError: a file of properties cannot be read.
    """
    return Storages(find_properties(properties))


def find_properties(properties: Properties) -> HadoopProperties:
    """Return Hadoop's properties from all files, variables and settings.

    Args:
        properties: Spark's properties from the settings; `spark.hadoop.*` are Hadoop's.

    Raises:
        WrongCallError: a file of properties cannot be read.
    """
    found = aws_variables(os.environ) | site_properties(os.environ)
    found |= _submitted() if is_submitted() else spark_defaults(os.environ)
    return HadoopProperties(found | _of_hadoop(properties))


def _submitted() -> dict[str, str]:
    """Return Hadoop's properties from spark-submit's command line and files."""
    from seglake.environment.spark_start import known_configuration

    return _of_hadoop(tuple(known_configuration().getAll()))


def _of_hadoop(properties: Properties) -> dict[str, str]:
    return {
        name.removeprefix(SPARK_PREFIX): value
        for name, value in properties
        if name.startswith(SPARK_PREFIX)
    }
