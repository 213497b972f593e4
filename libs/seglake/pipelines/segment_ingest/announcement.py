"""Tells of other runs at work before the work begins, and lets them tell of this one. Effect."""

import time
from collections.abc import Iterable
from dataclasses import replace

from seglake.lake.lake_folder import require_writable
from seglake.lake.running_runs import RunningRun, announce, hint_path, others_at_work, withdraw
from seglake.pipelines.segment_ingest.run_context import RunContext


class Announcement:
    """A run's hint in the lake, from when it begins to work until the end of the `with` block.

    A run that finds nothing to do leaves no file.

    Args:
        topics: those that it may commit; none: any.
    """

    def __init__(self, context: RunContext, topics: Iterable[str] = ()) -> None:
        self.notes: list[str] = []
        self._context = context
        self._topics = topics
        self._path: str | None = None

    @property
    def context(self) -> RunContext:
        """Return the run's context, which announces it before it works."""
        return replace(self._context, announce=self._make)

    def __enter__(self) -> "Announcement":
        return self

    def __exit__(self, *raised: object) -> None:
        if self._path is not None:
            withdraw(self._context.tables, self._path)

    def _make(self) -> None:
        """Put the hint, and the first time say who else is at work.

        It is put again before each wave: a first ingest may take days, and others shall still
        believe it then.
        """
        context = self._context
        now_ms = time.time_ns() // 1_000_000
        run = RunningRun.here(
            run_id=context.run_id,
            source_id=context.source_id,
            topics=self._topics,
            started_at_ms=context.started_at_us // 1000,
        )
        run = replace(run, seen_at_ms=now_ms)
        is_first = self._path is None
        self._path = self._path or hint_path(context.tables)
        is_put = announce(context.tables, run, self._path)
        if not is_first:
            return
        if not is_put:  # before the run has read or written anything
            tables = context.tables
            require_writable(tables.storage, tables.lake_path, tables.work_folder)
        # First put, then listed: of two runs that begin together at least one sees the other.
        for other in others_at_work(context.tables, run, self._path, now_ms):
            note = (
                f"another run ({other}) is at work on topics of this one, unless it was killed;"
                " what one of them commits first, the other leaves out"
            )
            context.reporter.say(note)
            self.notes.append(note)
