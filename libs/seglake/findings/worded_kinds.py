"""Closed sets of kinds whose members have words for a person. Pure."""

from enum import StrEnum
from typing import Self


class WordedKind(StrEnum):
    """Base class of kinds with words; members are defined as (name for programs, words)."""

    words: str

    def __new__(cls, name: str, words: str) -> Self:
        """Make a member from its name and its words."""
        kind = str.__new__(cls, name)
        kind._value_, kind.words = name, words
        return kind
