"""Layouts of records in Kafka's internal topics, and values read from them."""
