"""What can go wrong with a source."""

from seglake.errors import SeglakeError, WrongCallError


class WrongSourceError(WrongCallError):
    """The sources cannot be taken as they were given; nothing was touched."""


class SourceVanishedError(SeglakeError):
    """A file could not be read as it was planned."""
