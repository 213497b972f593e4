"""Arithmetic of checksums that is too slow in Python: compiled by numba."""

from seglake.segment_codec._kernel_parts import compiled


@compiled
def product(left: int, right: int, polynomial: int) -> int:
    """Two polynomials multiplied, modulo that of a checksum; all reflected, of 32 bits."""
    found = 0
    while left:
        if left & 0x80000000:
            found ^= right
        left = left << 1 & 0xFFFFFFFF
        right = right >> 1 ^ (polynomial if right & 1 else 0)
    return found
