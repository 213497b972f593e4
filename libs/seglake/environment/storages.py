"""Effect: makes the storage of a job from Hadoop's properties, where Spark would find them.

From weak to strong: AWS's variables and profiles, Hadoop's files, spark-defaults.conf or, under
spark-submit, all that it was told, and the settings.
"""

import os

from seglake.environment.aws_environment import aws_variables
from seglake.environment.hadoop_files import SPARK_PREFIX, site_properties, spark_defaults
from seglake.environment.spark_submit import is_submitted
from seglake.settings.values import Properties
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages


def open_storages(properties: Properties) -> Storages:
    """The storage of all places, each reached as the properties tell.

    Raises:
        WrongCallError: a file of properties cannot be read.
    """
    return Storages(find_properties(properties))


def find_properties(properties: Properties) -> HadoopProperties:
    """What is known of the places.

    Args:
        properties: Spark's, of the settings; those named `spark.hadoop.*` are Hadoop's.

    Raises:
        WrongCallError: a file of properties cannot be read.
    """
    found = aws_variables(os.environ) | site_properties(os.environ)
    found |= _submitted() if is_submitted() else spark_defaults(os.environ)
    return HadoopProperties(found | _of_hadoop(properties))


def _submitted() -> dict[str, str]:
    """What spark-submit was told, by its command line and its files."""
    from seglake.environment.spark_start import known_configuration

    return _of_hadoop(tuple(known_configuration().getAll()))


def _of_hadoop(properties: Properties) -> dict[str, str]:
    return {
        name.removeprefix(SPARK_PREFIX): value
        for name, value in properties
        if name.startswith(SPARK_PREFIX)
    }
