"""Stops runs of `deserialize` that would commit rows from erased records.

A run that read a record before its erasure must not commit the record's row afterwards. Decided
commits are completed before the rows are searched. An empty commit uses up the generation of each
commit that is not decided yet, so that this commit fails.
"""

import uuid
from collections.abc import Sequence

from seglake.errors import SeglakeError
from seglake.ingest_steps.run_context import RunContext
from seglake.lake.delta_commit import commit_wave, versions
from seglake.lake.value_recovery import aligned_tables, complete_values
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.lake.waves import TopicWave

_MOST_ROUNDS = 20


def stop_decoding(run: RunContext, topics: Sequence[str]) -> None:
    """Make active runs of `deserialize` discard their rows of some topics of the run's source.

    Topics without typed tables are included: their first run may be about to create these tables.

    Raises:
        SeglakeError: other runs kept committing first.
    """
    due = tuple(sorted(topics))
    for _ in range(_MOST_ROUNDS):
        if not due or not run.tables.has(VALUE_REJECTS):
            return
        complete_values(run.tables, run_id=run.run_id, after=run.after)
        commits_to = aligned_tables(run.tables, run.run_id)
        found = versions(run.tables, run.source_id, due, commits_to=commits_to)
        attempt = run.attempt(uuid.uuid4().hex)
        waves = [TopicWave(topic, found[topic].publishing + 1, ()) for topic in due]
        due = commit_wave(run.tables, attempt, waves, commits_to=commits_to, after=run.after).lost
    if due:
        raise SeglakeError(f"{', '.join(due)}: concurrent runs kept committing first; run again")
