"""What a Kafka log is: replicas, leader epochs, transactions, bounds, gaps. Pure."""
