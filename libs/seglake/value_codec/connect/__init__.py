"""Kafka Connect's JSON: a schema and a payload in each message, and Debezium's envelopes."""
