"""The main pipeline: Kafka log segments to tables."""
