"""Compressed payloads framed in every way that a writer or a bug could, and what Kafka reads.

`consumer.toml` holds what Kafka's own consumer gave for each (`FrameReader.java`, run by
tests/services/test_kafka_frames.py).
"""

from support.frames.cases import RECORD_COUNT, content, framed_batches, frames, values
from support.frames.consumer import consumed

__all__ = ["RECORD_COUNT", "consumed", "content", "framed_batches", "frames", "values"]
