"""Decodes Avro: a schema is parsed to types, and compiled to instructions of the kernel."""
