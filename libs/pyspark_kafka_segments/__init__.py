"""Package by whose name Spark finds the data source `kafka_segments`."""

from seglake.spark_features import PYTHON_DATA_SOURCES, spark_has

if spark_has(PYTHON_DATA_SOURCES):
    from seglake.spark_source.kafka_segments import KafkaSegmentsSource as DefaultSource
else:
    raise ImportError(
        "the data source kafka_segments needs Spark 4.0 or newer. With Spark 3.5 read records by"
        " `seglake ingest` and the table records, or print them with `seglake cat --source`."
    )

__all__ = ["DefaultSource"]
