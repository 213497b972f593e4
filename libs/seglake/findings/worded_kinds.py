"""Base class of enums whose members also have a text for a person."""

from enum import StrEnum
from typing import Self


class WordedKind(StrEnum):
    """Base class of enums; members are defined as (name for programs, words for a person)."""

    words: str

    def __new__(cls, name: str, words: str) -> Self:
        """Make a member from its name and its words."""
        kind = str.__new__(cls, name)
        kind._value_, kind.words = name, words
        return kind
