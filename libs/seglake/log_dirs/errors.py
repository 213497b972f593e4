"""Errors of sources: they cannot be used, or they changed."""

from seglake.errors import SeglakeError, WrongCallError


class WrongSourceError(WrongCallError):
    """Error for sources that cannot be used; nothing was changed."""


class SourceVanishedError(SeglakeError):
    """Error for a file that changed or vanished between survey and reading."""
