"""Codec for the files on a Kafka broker's disk: bytes in, values out.

It uses no file system, clock, log or Spark. Import its modules one by one.
"""
