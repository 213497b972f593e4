"""Errors for invalid objects of a remote tier, and for private keys."""

from seglake.segment_codec.formats.errors import SegmentCodecError


class TierObjectError(SegmentCodecError):
    """An object of a remote tier does not fit its layout, so it cannot be read."""

    def __init__(self, reason: str) -> None:
        """Store the reason, as text."""
        self.reason = reason
        super().__init__(reason)


class ChunkError(TierObjectError):
    """A chunk cannot be decoded; other chunks of its segment may be readable."""


class TierKeyError(TierObjectError):
    """A private key is unreadable, or does not decrypt a data key."""
