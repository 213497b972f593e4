"""Shows the contents of Kafka's files to a person or as JSON lines. Reads only, on one machine."""
