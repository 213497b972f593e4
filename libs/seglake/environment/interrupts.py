"""A flag: Ctrl-C ends the process at once while Spark starts, in commands but not in notebooks."""

from contextvars import ContextVar

ends_process: ContextVar[bool] = ContextVar("ends_process", default=False)
"""True in a command's own process; the command line sets it."""
