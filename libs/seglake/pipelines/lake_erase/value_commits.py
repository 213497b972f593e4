"""Completes commits of decoded values around an erasure, and stops the runs that would add more.

A run of `deserialize` that read a record before its erasure must not commit a row made of it
afterwards. So its commits are completed before the rows are searched, and an empty commit takes the
generation with which a run would commit that is not decided yet.
"""

import time
import uuid
from collections.abc import Sequence

from seglake.errors import SeglakeError
from seglake.ingest_steps.run_context import RunContext
from seglake.lake.commit_protocol import Attempt
from seglake.lake.delta_commit import commit_wave, recover, versions
from seglake.lake.tables import CommitTables
from seglake.lake.topic_drop import complete_drops
from seglake.lake.typed_tables import align, commit_tables, create_value_tables, typed_tables
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.lake.waves import TopicWave

_MOST_ROUNDS = 20


def complete_values(run: RunContext) -> list[str]:
    """Complete the commits and drops that runs of `deserialize` began; return their topics."""
    if not run.tables.has(VALUE_REJECTS):
        return []
    create_value_tables(run.tables)  # a run may have died between them
    dropped = complete_drops(run.tables, run.after)
    commits_to = _aligned(run)
    return [*dropped, *recover(run.tables, None, commits_to=commits_to, after=run.after)]


def stop_decoding(run: RunContext, topics: Sequence[str]) -> None:
    """Make active runs of `deserialize` lose what they have of some topics of the run's source.

    A topic without typed tables counts too: its first run may be about to create them.

    Raises:
        SeglakeError: other runs kept committing first.
    """
    due = tuple(sorted(topics))
    for _ in range(_MOST_ROUNDS):
        if not due or not run.tables.has(VALUE_REJECTS):
            return
        complete_values(run)
        commits_to = _aligned(run)
        found = versions(run.tables, run.source_id, due, commits_to=commits_to)
        attempt = Attempt(
            source_id=run.source_id,
            attempt_id=uuid.uuid4().hex,
            run_id=run.run_id,
            now_ms=time.time_ns() // 1_000_000,
        )
        waves = [TopicWave(topic, found[topic].publishing + 1, ()) for topic in due]
        due = commit_wave(run.tables, attempt, waves, commits_to=commits_to, after=run.after).lost
    if due:
        raise SeglakeError(f"{', '.join(due)}: concurrent runs kept committing first; run again")


def _aligned(run: RunContext) -> CommitTables:
    """Return the tables of decoded values, all of which have the published generations."""
    found = typed_tables(run.tables)
    align(run.tables, found, run.tables.source_ids(), run.run_id)
    return commit_tables(found)
