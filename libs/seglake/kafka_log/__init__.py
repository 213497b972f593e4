"""Rules of Kafka logs: replicas, leader epochs, transactions, bounds and gaps."""
