"""Bad calls; bad bytes never come through here: they are shown."""

from seglake.errors import WrongCallError


class WrongPathError(WrongCallError):
    """The path cannot be looked into in this way."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot inspect {path}: {reason}")
