"""Computes checksums of possible batches, in time linear in the file's size.

Damaged bytes, or values that look like headers, may state many long batches that overlap, and each
of them needs a checksum. If this would read too many bytes again, the checksum of a range is
combined from the checksums of the file's blocks, each computed once::

    crc(AB) = shift(crc(A), length of B) ^ crc(B)

where the shift multiplies by x^(8 length), modulo the CRC's polynomial. Source: zlib 1.3, crc32.c,
crc32_combine.
"""

from array import array

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.checksum import CASTAGNOLI, IEEE, Checksum, crc32, crc32c
from seglake.segment_codec.walk.window import Views, Window

_PIECE_BYTES = 4 << 20
_LOOK_BYTES = 1 << 20
_BLOCK_BITS = 12
_BLOCK_BYTES = 1 << _BLOCK_BITS
_MOST_REPEATED_BYTES = 16 << 20
_ONE = 1 << 31  # polynomials are bit-reversed: the highest bit is x^0


class BatchChecksums:
    """Checksums computed from the file's bytes, to compare with those in batch headers."""

    def __init__(self, window: Window) -> None:
        """Start at the beginning of a file.

        Args:
            window: bytes of the file.
        """
        self._window = window
        self._stop = 0  # the file is read in order up to here
        self._repeated_bytes = 0
        self._old = _Ranges(window, crc32, IEEE)
        self._new = _Ranges(window, crc32c, CASTAGNOLI)

    def of(self, position: int, size_bytes: int, magic: int, *, is_ahead: bool = False) -> int:
        """Compute the checksum of a batch or message from its bytes.

        Args:
            position: position of the batch in the file.
            size_bytes: size of the batch in its header; it must not exceed the file.
            magic: magic of the batch, which decides the kind of checksum.
            is_ahead: whether the walk has not reached this batch, so that the window must not be
                moved.
        """
        stop = position + size_bytes
        if size_bytes > 2 * _BLOCK_BYTES and self._repeated_bytes > _MOST_REPEATED_BYTES:
            ranges = self._new if magic == 2 else self._old
            return ranges.of(position + _start(magic), stop)
        self._repeated_bytes += max(0, min(self._stop, stop) - position)
        self._stop = max(self._stop, stop)
        window: Views = self._window
        if is_ahead:
            window = self._window.beside(position, size_bytes)
        return batch_checksum(window, position, size_bytes, magic)


def batch_checksum(window: Views, position: int, size_bytes: int, magic: int) -> int:
    """Compute the checksum of a batch or message, piece by piece.

    A damaged length may span most of the file, which need not be in memory.
    """
    # The first view begins at the batch, so that the window then holds the batch for the caller.
    window.view(position, min(_PIECE_BYTES, size_bytes))
    checksum = crc32c if magic == 2 else crc32
    return _checksum(window, position + _start(magic), position + size_bytes, checksum)


def stated_checksum(header: memoryview, magic: int) -> int:
    """Return the checksum field of a batch's or message's header, which must be complete."""
    if magic == 2:
        return record_batch.BatchHeader._make(record_batch.HEADER.unpack_from(header)).crc
    crc: int = message_set.PREFIX.unpack_from(header)[2]
    return crc


def _start(magic: int) -> int:
    """Return how many bytes at the start of a batch or message are not in its checksum."""
    return record_batch.CHECKSUM_START if magic == 2 else message_set.CHECKSUM_START


def _checksum(window: Views, start: int, stop: int, checksum: Checksum, before: int = 0) -> int:
    """Return the checksum of [start, stop); `before` is the checksum of the preceding bytes."""
    while start < stop:
        piece = window.view(start, min(_PIECE_BYTES, stop - start))
        before = checksum(piece, before)
        start += len(piece)
    return before


class _Ranges:
    """Checksums of overlapping byte ranges, combined from blocks; `polynomial` is bit-reversed."""

    def __init__(self, window: Window, checksum: Checksum, polynomial: int) -> None:
        """Start without any block's checksum."""
        self._window = window
        self._checksum = checksum
        self._polynomial = polynomial
        self._first = -1  # index of the first block with a sum
        self._sums = array("L", [0])  # sums[i]: checksum of i blocks from the first
        self._shifts = array("L", [_ONE])  # shifts[i]: shift by i blocks

    def of(self, start: int, stop: int) -> int:
        """Return the checksum of the bytes [start, stop)."""
        first, last = -(-start >> _BLOCK_BITS), stop >> _BLOCK_BITS
        if first >= last:
            return self._sum(start, stop)
        self._extend(first, last)
        head = self._sum(start, first << _BLOCK_BITS)
        skipped, whole = self._sums[first - self._first], self._sums[last - self._first]
        middle = self._product(self._shifts[last - first], head ^ skipped) ^ whole
        return self._sum(last << _BLOCK_BITS, stop, middle)

    def _sum(self, start: int, stop: int, before: int = 0) -> int:
        """Compute a checksum by reading; `before` is the checksum of the preceding bytes."""
        return _checksum(
            self._window.beside(start, stop - start), start, stop, self._checksum, before
        )

    def _extend(self, first: int, last: int) -> None:
        """Compute the checksums of blocks from `first` to `last` that are not known yet."""
        if self._first < 0 or first < self._first:
            self._first = first if self._first < 0 else 0
            del self._sums[1:]
        while self._first + len(self._sums) <= last:
            start = self._first + len(self._sums) - 1 << _BLOCK_BITS
            size_bytes = min(_LOOK_BYTES, (last << _BLOCK_BITS) - start)
            piece = self._window.beside(start, size_bytes).view(start, size_bytes)
            for at in range(0, size_bytes, _BLOCK_BYTES):
                block = piece[at : at + _BLOCK_BYTES]
                self._sums.append(self._checksum(block, self._sums[-1]))
        while len(self._shifts) <= last - first:
            if len(self._shifts) == 1:
                self._shifts.append(self._shift_of_a_block())
            self._shifts.append(self._product(self._shifts[-1], self._shifts[1]))

    def _shift_of_a_block(self) -> int:
        """Return the factor that shifts a checksum by one block."""
        power = _ONE >> 1  # the polynomial x, which is squared until it shifts by a block
        for _ in range(_BLOCK_BITS + 3):
            power = self._product(power, power)
        return power

    def _product(self, left: int, right: int) -> int:
        """Return the product of two polynomials, modulo the polynomial of the checksum."""
        # imported only when needed, since numba takes 0.2 s
        from seglake.segment_codec.kernels.parts import product

        return int(product(left, right, self._polynomial))
