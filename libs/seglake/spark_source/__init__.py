"""The Spark data source `kafka_segments`."""
