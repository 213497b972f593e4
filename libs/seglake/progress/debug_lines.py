"""Shows a run's debug log in its view. Effect: opens the logger `seglake` for a while.

Modules log facts of their steps with `logging.getLogger(__name__).debug`: counts, offsets, names
and ids, but no payloads, settings or secrets. Tasks log nothing: the driver logs their reports.
Nothing is shown unless `debug_lines` runs or the caller has a handler of its own.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ROOT = "seglake"


class _Lines(logging.Handler):
    def __init__(self, show: Callable[[str, str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # the arguments do not fit the text
            self.handleError(record)
        else:
            self._show(record.name.removeprefix(f"{_ROOT}."), text)


@contextmanager
def debug_lines(show: Callable[[str, str], None]) -> Iterator[None]:
    """Call a function with each debug line in the block: its module and its text."""
    logger, handler = logging.getLogger(_ROOT), _Lines(show)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
