"""The formats of printed records; the command line imports them before anything else."""

from enum import StrEnum


class LineFormat(StrEnum):
    """Formats of a printed record."""

    JSON = "json"
    VALUE = "value"
    KEY_VALUE = "key-value"
