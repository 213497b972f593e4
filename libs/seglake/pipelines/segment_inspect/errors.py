"""Errors of wrong calls; damaged bytes are shown instead of being errors."""

from seglake.errors import WrongCallError


class WrongPathError(WrongCallError):
    """Error for a path that cannot be inspected in the requested way."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Make the message.

        Args:
            path: the resolved path.
            reason: why it cannot be inspected.
        """
        super().__init__(f"cannot inspect {path}: {reason}")
