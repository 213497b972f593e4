"""The two checksums of Kafka's formats.

CRC-32C (Castagnoli) covers a record batch of magic 2 from its attributes on; CRC-32 (zlib's) covers
a message of magic 0 or 1 from its magic byte on. Source: apache/kafka 1eb7644, DefaultRecordBatch,
LegacyRecord.
"""

import functools
import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

IEEE = 0xEDB88320  # the polynomials here are bit-reversed
CASTAGNOLI = 0x82F63B78


Checksum = Callable[[memoryview | bytes, int], int]

crc32 = zlib.crc32


def crc32c(data: memoryview | bytes, before: int = 0) -> int:
    """Return the unsigned CRC-32C of bytes; `before` is the checksum of preceding ones, or 0."""
    return _castagnoli()(data, before)


@functools.cache
def _castagnoli() -> Checksum:
    # to know its version, the library imports email and zipfile: 20 ms, which quiet runs save
    from crc32c import crc32c as checksum

    return checksum


def slicing_tables(polynomial: int) -> NDArray[np.uint32]:
    """Return the (8, 256) tables with which a kernel computes a 32-bit CRC, eight bytes per step.

    Table 0 is the usual table for one byte; table k is for a byte that is k bytes earlier.

    Args:
        polynomial: the bit-reversed polynomial of the checksum.
    """
    tables = np.zeros((8, 256), np.uint32)
    tables[0] = np.arange(256)
    for _ in range(8):
        tables[0] = tables[0] >> 1 ^ (tables[0] & 1) * np.uint32(polynomial)
    for place in range(1, 8):
        previous = tables[place - 1]
        tables[place] = (previous >> np.uint32(8)) ^ tables[0][previous & np.uint32(0xFF)]
    return tables
