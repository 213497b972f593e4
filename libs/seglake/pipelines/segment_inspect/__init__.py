"""Shows the contents of Kafka's files to a person or as JSON lines. Only reads, on one machine."""
