"""The lake: its tables, the files in them, and how they are committed; nothing of Kafka's bytes.

Import by module, so that a process loads only what it uses: deltalake has no place in a worker.
"""
