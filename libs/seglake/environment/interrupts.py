"""Flag whether Ctrl-C ends the process while Spark starts.

Ctrl-C ends commands, but not notebooks.
"""

from contextvars import ContextVar

ends_process: ContextVar[bool] = ContextVar("ends_process", default=False)
"""True in the process of a command; the command line sets it."""
