"""Package by whose name Spark finds the data source `kafka_segments`."""

from seglake.spark_source.kafka_segments import KafkaSegmentsSource as DefaultSource

__all__ = ["DefaultSource"]
