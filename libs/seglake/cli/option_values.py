"""Parsers for the values of options that are more than text."""

import argparse
import os
import re


def number(text: str) -> int:
    """Return the number in a text of decimal digits.

    Raises:
        argparse.ArgumentTypeError: the text has other characters than digits.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, got {text!r}")
    return int(text)


def text_bytes(text: str) -> bytes:
    """Return the bytes of a text as the shell gave them, usually UTF-8."""
    return os.fsencode(text)


def hex_bytes(text: str) -> bytes:
    """Return the bytes in a text of hexadecimal digits.

    Raises:
        argparse.ArgumentTypeError: the text is not pairs of hexadecimal digits.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise argparse.ArgumentTypeError("expected pairs of hexadecimal digits") from None


def key_file(text: str) -> tuple[str, str]:
    """Return the key id and the file of `ID=FILE`.

    Raises:
        argparse.ArgumentTypeError: one of them is missing.
    """
    key_id, _, path = text.partition("=")
    if not key_id or not path:
        raise argparse.ArgumentTypeError(
            f"expected ID=FILE, such as key1=/secure/key1.pem, got {text!r}"
        )
    return key_id, path


def offsets(text: str) -> tuple[int, int | None]:
    """Return the bounds of `FROM:TO`; an empty FROM is 0, an empty TO is None (no bound).

    Raises:
        argparse.ArgumentTypeError: the text has another form, or FROM is not below TO.
    """
    first, colon, stop = text.partition(":")
    if not colon or not all(part.isdecimal() or not part for part in (first, stop)):
        raise argparse.ArgumentTypeError(f"expected FROM:TO, as 100:200, got {text!r}")
    bounds = int(first or 0), int(stop) if stop else None
    if bounds[1] is not None and bounds[0] >= bounds[1]:
        raise argparse.ArgumentTypeError(f"TO must lie above FROM, got {text!r}")
    return bounds


_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|([ntr0\\])|)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def delimiter(text: str) -> bytes:
    r"""Return the bytes of a text that may have escapes, such as `\n` or `\x1f`.

    Raises:
        argparse.ArgumentTypeError: a backslash begins an unknown escape.
    """

    def unescaped(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            return bytes.fromhex(found[1].decode())
        if found[2] is None:
            raise argparse.ArgumentTypeError(
                rf"expected \n, \t, \r, \0, \\ or \xNN after a backslash, got {text!r}"
            )
        return _ESCAPED[found[2]]

    return _ESCAPE.sub(unescaped, os.fsencode(text))
