"""Hints of the runs at work in a lake: a small file each, so that others can say so. Effect.

Never a lock. Which of two runs wins is settled by their commits; a hint that is missing, stale or
unreadable costs a person a sentence. So whatever fails here is passed over.
"""

import contextlib
import json
import os
import socket
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Self

from seglake.lake.delta_tables import LakeTables
from seglake.storage.errors import NotFoundError, PlaceError, RefusedError

_SUFFIX = ".json"
_MOST_TOPICS = 1000
_FRESH_MS = 24 * 3600 * 1000
_MOST_MS = 1 << 47  # a time that can be shown: in the year 6429
_MOST_PID = 1 << 31


@dataclass(frozen=True, slots=True)
class RunningRun:
    """A run that works on some topics of a cluster; on all of them if there are none."""

    run_id: str
    source_id: str
    topics: tuple[str, ...]
    started_at_ms: int
    seen_at_ms: int  # when it last said that it is at work, by its own clock
    host: str
    pid: int  # of its driver, on `host`

    @classmethod
    def here(
        cls, *, run_id: str, source_id: str, topics: Iterable[str], started_at_ms: int
    ) -> Self:
        """Return a run of this process."""
        named = tuple(sorted(topics))
        listed = named if len(named) <= _MOST_TOPICS else ()
        return cls(
            run_id=run_id,
            source_id=source_id,
            topics=listed,
            started_at_ms=started_at_ms,
            seen_at_ms=started_at_ms,
            host=socket.gethostname(),
            pid=os.getpid(),
        )

    def __str__(self) -> str:
        started = datetime.fromtimestamp(self.started_at_ms / 1000, UTC)
        return f"{self.run_id}, on {self.host} since {started:%Y-%m-%d %H:%M} UTC"

    def is_on_topics_of(self, other: Self) -> bool:
        """Return whether both may commit the same topics."""
        if self.source_id != other.source_id:
            return False
        shared = not self.topics or not other.topics or {*self.topics} & {*other.topics}
        return bool(shared)

    def is_over(self, now_ms: int, here: Self) -> bool:
        """Return whether it has surely ended, or was last seen so long ago that it says nothing.

        A clock that is far ahead of this one would keep a hint for good: it says nothing either.
        """
        if abs(now_ms - self.seen_at_ms) > _FRESH_MS:
            return True
        return self.host == here.host and not _is_alive(self.pid)


def hint_path(tables: LakeTables) -> str:
    """Return a place for the hint of one run."""
    return tables.storage.join(tables.running_folder, f"{uuid.uuid4().hex}{_SUFFIX}")


def announce(tables: LakeTables, run: RunningRun, path: str) -> bool:
    """Write or renew a run's hint; return False if the storage denies it."""
    try:
        tables.storage.write_bytes(path, json.dumps(asdict(run)).encode())
    except RefusedError:
        return False
    except PlaceError:
        pass
    return True


def withdraw(tables: LakeTables, path: str) -> None:
    """Delete a run's hint."""
    with contextlib.suppress(PlaceError):
        tables.storage.delete(path)


def others_at_work(
    tables: LakeTables, run: RunningRun, own_path: str, now_ms: int
) -> list[RunningRun]:
    """Return other runs that may commit the same topics, oldest first; delete dead runs' hints."""
    found = []
    with contextlib.suppress(PlaceError):
        for entry in tables.storage.list_folder(tables.running_folder):
            if entry.path == own_path or not entry.name.endswith(_SUFFIX):
                continue
            other = _read(tables, entry.path)
            if other is None:
                continue
            if other.is_over(now_ms, run):
                withdraw(tables, entry.path)
            elif other.is_on_topics_of(run):
                found.append(other)
    return sorted(found, key=lambda other: other.started_at_ms)


def _read(tables: LakeTables, path: str) -> RunningRun | None:
    """Return the run of a hint; None where it is none of ours, or went meanwhile."""
    with contextlib.suppress(NotFoundError, ValueError, TypeError):
        run = RunningRun(**json.loads(tables.storage.read_bytes(path)))
        run = replace(run, topics=tuple(run.topics))
        texts = (run.run_id, run.source_id, run.host, *run.topics)
        bounds = ((run.started_at_ms, _MOST_MS), (run.seen_at_ms, _MOST_MS), (run.pid, _MOST_PID))
        if all(isinstance(text, str) for text in texts) and all(
            isinstance(number, int) and 0 < number < most for number, most in bounds
        ):
            return run
    return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
