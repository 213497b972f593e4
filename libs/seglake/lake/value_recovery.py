"""Completes commits and drops of decoded values that dead runs left. Runs on the driver."""

from collections.abc import Callable

from seglake.lake.commit_protocol import no_hook
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import CommitTables
from seglake.lake.topic_drop import complete_drops
from seglake.lake.typed_tables import align, commit_tables, create_value_tables, typed_tables
from seglake.lake.value_tables import VALUE_REJECTS


def complete_values(
    tables: LakeTables, *, run_id: str, after: Callable[[str], None] = no_hook
) -> list[str]:
    """Complete unfinished runs of `deserialize`; return the topics of their commits and drops.

    Args:
        tables: the lake; nothing is done if no run has decoded values in it.
        run_id: label of the run, for the commits' info.
        after: called with the name of each step, for tests that stop there.
    """
    if not tables.has(VALUE_REJECTS):
        return []
    create_value_tables(tables)  # a run may have died between creating two tables
    dropped = complete_drops(tables, after)
    commits_to = aligned_tables(tables, run_id)
    recovered = recover(tables, None, commits_to=commits_to, after=after)
    return [*dict.fromkeys((*dropped, *recovered))]


def aligned_tables(tables: LakeTables, run_id: str) -> CommitTables:
    """Return the tables of decoded values, after all of them got the published generations."""
    found = typed_tables(tables)
    align(tables, found, tables.source_ids(), run_id)
    return commit_tables(found)
