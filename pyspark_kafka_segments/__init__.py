"""By the name of this package Spark finds the data source `kafka_segments`."""

from jobs.kafka_segments import KafkaSegmentsSource as DefaultSource

__all__ = ["DefaultSource"]
