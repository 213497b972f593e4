"""Rules of a Kafka log over values: replicas, leader epochs, transactions, bounds, gaps. Pure."""
