"""Errors of sources."""

from seglake.errors import SeglakeError, WrongCallError


class WrongSourceError(WrongCallError):
    """The given sources cannot be used; nothing was touched."""


class SourceVanishedError(SeglakeError):
    """A file is no longer as it was when its reading was planned."""
