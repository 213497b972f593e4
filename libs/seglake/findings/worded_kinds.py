"""Closed sets of kinds whose members carry the words that a person reads. Pure."""

from enum import StrEnum
from typing import Self


class WordedKind(StrEnum):
    """Base of such a set: a member is written as (name for machines, words)."""

    words: str

    def __new__(cls, name: str, words: str) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.words = name, words
        return kind
