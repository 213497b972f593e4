"""The two checksums of Kafka's formats.

CRC-32C (Castagnoli) covers a record batch of magic 2 from its attributes on; CRC-32 (zlib's) covers
a message of magic 0 or 1 from its magic byte on. Source: apache/kafka 1eb7644, DefaultRecordBatch,
LegacyRecord.
"""

import zlib

import crc32c as _crc32c
import numpy as np
from numpy.typing import NDArray

IEEE = 0xEDB88320  # reflected, as all here
CASTAGNOLI = 0x82F63B78


def crc32c(data: memoryview | bytes, before: int = 0) -> int:
    """CRC-32C of the bytes, unsigned; `before` is that of the bytes before them."""
    return _crc32c.crc32c(data, before)


def crc32(data: memoryview | bytes, before: int = 0) -> int:
    """CRC-32 of the bytes, unsigned; `before` as in `crc32c`."""
    return zlib.crc32(data, before)


def slicing_tables(polynomial: int) -> NDArray[np.uint32]:
    """The (8, 256) tables with which a kernel takes eight bytes of a CRC of 32 bits a step.

    Table 0 is the classic byte table of the reflected polynomial; table k holds the effect of a
    byte that is k places earlier.
    """
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        tables[0, byte] = value
    for place in range(1, 8):
        previous = tables[place - 1]
        tables[place] = (previous >> np.uint32(8)) ^ tables[0][previous & np.uint32(0xFF)]
    return tables
