"""Helpers of the tests: broker disks, Kafka's statements about them, an own encoder."""
