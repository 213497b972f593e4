"""What Kafka's files hold, shown to a person or as JSON lines. Reads only, on one machine."""
