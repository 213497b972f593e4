"""Delta tables of the lake, the files in them, and commits to them; nothing of Kafka's bytes.

Import by module, so that a process loads only what it uses: deltalake must not be loaded in a
worker.
"""
