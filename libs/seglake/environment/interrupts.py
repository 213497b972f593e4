"""Whether Ctrl-C ends the process at once while Spark starts: in a command, not in a notebook."""

from contextvars import ContextVar

ends_process: ContextVar[bool] = ContextVar("ends_process", default=False)
"""Set by the command line, which has a process of its own."""
