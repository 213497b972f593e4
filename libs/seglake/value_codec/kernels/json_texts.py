"""Compiled loops over strings and numbers of JSON: escapes undone, numbers made comparable."""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.json_tokens import put_string


@compiled
def copy_strings(
    data: Array, starts: Array, ends: Array, are_escaped: Array, out: Array, offsets: Array
) -> None:
    """Copy strings one after the other, without their escapes.

    Args:
        data: bytes that have the strings.
        starts: index of each string's first byte.
        ends: index after each string's last byte.
        are_escaped: for each string, whether it may have escapes.
        out: gets the bytes; has room for the strings as they are.
        offsets: get the index in `out` after each string, from the second one on.
    """
    at = np.int64(0)
    for row in range(len(starts)):
        if are_escaped[row]:
            at = put_string(data, starts[row], ends[row], out, at)
        else:
            for index in range(starts[row], ends[row]):
                out[at] = data[index]
                at += 1
        offsets[row + 1] = at


@inlined
def _significant(data: Array, p: Int, stop: Int) -> tuple[Int, Int, Int]:
    """Return (digits as an integer, number of digits or 99, exponent of ten) of a number."""
    digits, count, exponent, zeros = np.uint64(0), np.int64(0), np.int64(0), np.int64(0)
    has_point = False
    while p < stop and data[p] != 101 and data[p] != 69:
        byte = np.int64(data[p])
        p += 1
        if byte == 46:
            has_point = True
        elif byte != 45:
            exponent -= has_point
            if byte == 48:
                zeros += count > 0
            else:
                count += zeros + 1
                if count > 19:
                    return np.int64(0), np.int64(99), np.int64(0)
                for _ in range(zeros + 1):
                    digits *= np.uint64(10)
                digits += np.uint64(byte - 48)
                zeros = np.int64(0)
    if p < stop:
        written, sign = np.int64(0), np.int64(1)
        for index in range(p + 1, stop):
            if data[index] == 45:
                sign = np.int64(-1)
            elif data[index] != 43:
                written = min(written * 10 + np.int64(data[index]) - 48, np.int64(100_000_000))
        exponent += sign * written
    return np.int64(digits), count, (exponent + zeros if count else np.int64(0))


@compiled
def significant_digits(
    data: Array, starts: Array, ends: Array, digits: Array, counts: Array, exponents: Array
) -> None:
    """Find digits and exponents of numbers: two numbers are equal if both are equal.

    Args:
        data: bytes that have the numbers, as JSON writes them.
        starts: index of each number's first byte.
        ends: index after each number's last byte.
        digits: get the digits from the first to the last that is not 0.
        counts: get the number of these digits, 99 if more than 19.
        exponents: get the power of ten that the digits are multiplied by.
    """
    for row in range(len(starts)):
        digits[row], counts[row], exponents[row] = _significant(data, starts[row], ends[row])
