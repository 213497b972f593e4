"""Clusters that a lake has rows of. Effect: reads the ledger."""

from seglake.lake.delta_tables import LakeTables


def only_source(tables: LakeTables) -> str | None:
    """Return the lake's source if it has exactly one; None also where there is no lake."""
    found = tables.source_ids() if tables.exists() else []
    return found[0] if len(found) == 1 else None
