"""What is printed of a record. A closed set, which the command line imports before anything."""

from enum import StrEnum


class LineFormat(StrEnum):
    """What is printed of a record."""

    JSON = "json"
    VALUE = "value"
    KEY_VALUE = "key-value"
