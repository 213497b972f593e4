"""Checksums of possible batches, in time that is linear in the file whatever headers claim.

Damage, or a value that looks like headers, may claim any number of batches that reach far into the
file. Each claim is refuted by its checksum. If too many bytes were read again, the checksum of a
range is combined from those of the file's blocks, each computed once::

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
_ONE = 1 << 31  # polynomials are reflected: the highest bit is x^0


class BatchChecksums:
    """Computes the checksums that the batches of one file should have."""

    def __init__(self, window: Window) -> None:
        """Start at the beginning of a file.

        Args:
            window: bytes of the file; borrowed.
        """
        self._window = window
        self._stop = 0  # end of the bytes that were read so far
        self._repeated_bytes = 0
        self._old = _Ranges(window, crc32, IEEE)
        self._new = _Ranges(window, crc32c, CASTAGNOLI)

    def of(self, position: int, size_bytes: int, magic: int, *, is_ahead: bool = False) -> int:
        """Return the checksum that a batch or message should have.

        Args:
            position: position of the batch in the file.
            size_bytes: bytes of the batch, as claimed; they must lie in the file.
            magic: magic of the batch, which decides the kind of checksum.
            is_ahead: the walk is not at this batch, so its window must stay where it is.
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
    """Return the checksum of one batch or message, computed piece by piece.

    A damaged length may claim most of the file, which need not be in memory to be refuted.
    """
    # View from the first byte on: a caller that reads the whole batch next finds it in the window.
    window.view(position, min(_PIECE_BYTES, size_bytes))
    checksum = crc32c if magic == 2 else crc32
    return _checksum(window, position + _start(magic), position + size_bytes, checksum)


def _start(magic: int) -> int:
    """Return the number of leading bytes that the checksum does not cover."""
    return record_batch.CHECKSUM_START if magic == 2 else message_set.CHECKSUM_START


def _checksum(window: Views, start: int, stop: int, checksum: Checksum, before: int = 0) -> int:
    """Return the checksum of the bytes [start, stop); `before` is that of the bytes before."""
    while start < stop:
        piece = window.view(start, min(_PIECE_BYTES, stop - start))
        before = checksum(piece, before)
        start += len(piece)
    return before


class _Ranges:
    """Checksums of overlapping ranges; `polynomial` is the checksum's, reflected."""

    def __init__(self, window: Window, checksum: Checksum, polynomial: int) -> None:
        """Start without sums; the window is borrowed."""
        self._window = window
        self._checksum = checksum
        self._polynomial = polynomial
        self._first = -1  # first block with a sum
        self._sums = array("L", [0])  # sums[i]: checksum of the first i blocks from there
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
        """Return a checksum from the bytes themselves."""
        return _checksum(
            self._window.beside(start, stop - start), start, stop, self._checksum, before
        )

    def _extend(self, first: int, last: int) -> None:
        """Compute the missing block sums; a walk goes forward, except for a look ahead."""
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
        """Return the polynomial that shifts a checksum by one block."""
        power = _ONE >> 1  # x, then squared for each doubling
        for _ in range(_BLOCK_BITS + 3):
            power = self._product(power, power)
        return power

    def _product(self, left: int, right: int) -> int:
        """Return the product of two polynomials, modulo the checksum's."""
        from seglake.segment_codec.kernels.parts import product  # numba takes 0.2 s

        return int(product(left, right, self._polynomial))
