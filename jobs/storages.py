"""Effect: makes the storage of a job from Hadoop's properties, as Spark would find them."""

from lake.hadoop_properties import HadoopProperties
from lake.storages import Storages
from pipelines.segment_ingest.setting_values import Properties

_PREFIX = "spark.hadoop."


def open_storages(properties: Properties) -> Storages:
    """The storage of all places that these properties of Spark tell how to reach.

    Args:
        properties: of the settings; those named `spark.hadoop.*` are Hadoop's.
    """
    given = {name.removeprefix(_PREFIX): value for name, value in properties if _is_hadoops(name)}
    return Storages(HadoopProperties(given))


def _is_hadoops(name: str) -> bool:
    return name.startswith(_PREFIX)
