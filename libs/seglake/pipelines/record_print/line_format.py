"""Formats of printed records, apart from the rest so that the command line imports them quickly."""

from enum import StrEnum


class LineFormat(StrEnum):
    """Formats of a printed record."""

    JSON = "json"
    VALUE = "value"
    KEY_VALUE = "key-value"
