"""What the tests share: broker disks, what Kafka says about them, and an encoder of their own."""
