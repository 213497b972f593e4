"""The compression codec ids. Source: apache/kafka 1eb7644, CompressionType.java."""

from enum import IntEnum


class Codec(IntEnum):
    """Compression codec ids in a batch's attributes; 5 to 7 are unassigned."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODECS = tuple(Codec)  # an index is faster than Codec(id)
