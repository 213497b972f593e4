"""The main job: Kafka log segments to tables."""
