"""Kafka's files on a broker's disk: bytes in, values out.

Knows no file system, no clock, no log and no Spark. Import by module.
"""
