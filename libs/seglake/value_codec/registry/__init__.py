"""The schema registry whose records are in the topic `_schemas`."""
