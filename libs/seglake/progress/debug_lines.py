"""Shows a run's debug log in its view, by enabling the logger `seglake` for a while.

Modules log facts of their steps with `logging.getLogger(__name__).debug`: counts, offsets, names
and ids, but no payloads, settings or secrets. Tasks log nothing: the driver logs their reports.
Nothing is shown unless `debug_lines` runs or the caller has installed a handler.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ROOT = "seglake"


class _Lines(logging.Handler):
    def __init__(self, show: Callable[[str, str], None], level_before: int) -> None:
        super().__init__()
        self._show = show
        self.level_before = level_before

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # the arguments do not fit the text's format
            self.handleError(record)
        else:
            self._show(record.name.removeprefix(f"{_ROOT}."), text)


@contextmanager
def debug_lines(show: Callable[[str, str], None]) -> Iterator[None]:
    """Call a function with the module and the text of each debug line in the block.

    If several blocks overlap, the logger gets its former level back when the last block ends.
    """
    logger = logging.getLogger(_ROOT)
    handler = _Lines(show, logger.level)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        first, *others = [each for each in logger.handlers if isinstance(each, _Lines)]
        if not others:
            logger.setLevel(handler.level_before)
        elif handler is first:
            others[0].level_before = handler.level_before
        logger.removeHandler(handler)
