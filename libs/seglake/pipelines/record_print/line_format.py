"""Formats of printed records, in a small module that the command line imports quickly."""

from enum import StrEnum


class LineFormat(StrEnum):
    """Formats of a printed record."""

    JSON = "json"
    VALUE = "value"
    KEY_VALUE = "key-value"
