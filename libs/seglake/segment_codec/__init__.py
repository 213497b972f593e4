"""Codec for Kafka's files on a broker's disk: bytes in, values out.

It uses no file system, no clock, no log and no Spark. Import by module.
"""
