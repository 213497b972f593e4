"""Codec for the values of records: bytes and the schema of their writer in, values out.

It knows neither Kafka's log nor tables, opens nothing and logs nothing. Import by module.
"""
