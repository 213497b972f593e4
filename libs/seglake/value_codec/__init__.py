"""Codec for the values of records: bytes and the schema of their writer in, values out.

The package knows neither Kafka's log nor tables, opens no files and logs nothing. Import by module.
"""
