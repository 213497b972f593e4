"""The compression codec ids. Source: apache/kafka 1eb7644, CompressionType.java."""

from enum import IntEnum


class Codec(IntEnum):
    """The compression codec ids of the attributes; 5 to 7 are not given out."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODECS = tuple(Codec)  # by id; looking one up is cheaper than making it
