"""Flag that says whether Ctrl-C ends the process while Spark starts.

It does in commands, but not in notebooks.
"""

from contextvars import ContextVar

ends_process: ContextVar[bool] = ContextVar("ends_process", default=False)
"""True in the process of a command; the command line sets it."""
