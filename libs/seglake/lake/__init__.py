"""Delta tables of a lake, their data files, and commits; nothing here knows Kafka's formats.

Import single modules, so that a process loads only what it uses. Workers must not load deltalake.
"""
