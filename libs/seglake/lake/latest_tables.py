"""Defines the tables of latest state, and finds and creates them.

A table `latest/<topic>` has the newest record of each key in each partition, including tombstones.
No other table depends on its rows. A commit that changes rows also sets the generation of the
topic's application id: the generation of the newest commit to `records` that the table includes.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import LatestTableError
from seglake.lake.foreign_changes import commit_of
from seglake.lake.log_growth import LogPlace
from seglake.lake.parquet_files import folder_value
from seglake.lake.table_creation import create_table
from seglake.lake.tables import RECORDS, Table, boolean_columns

LATEST_FOLDER = "latest"
FENCE_APP = "seglake/fence"
"""Application id whose generation an erasure advances, so that a run that read before loses."""
PLACES = "read_places"
"""Key in a commit's info: the versions up to which `latest` has read other tables."""
_TOPIC = "seglake.topic"


class LatestTable(NamedTuple):
    """Definition of the table `latest/<topic>`, and its topic."""

    topic: str
    table: Table


def latest_table(topic: str) -> LatestTable:
    """Return the definition of the table `latest/<topic>`."""
    table = Table.of(
        f"{LATEST_FOLDER}/{folder_value(topic)}",
        *RECORDS.schema,
        *boolean_columns("is_deleted"),
        statistics="partition offset timestamp",
        topics=frozenset({topic}),
    )
    return LatestTable(topic, table)


def latest_tables(tables: LakeTables) -> list[LatestTable]:
    """Return the tables of latest state in a lake, sorted by name.

    Raises:
        LatestTableError: a table in the folder was not made by seglake.
    """
    found = []
    for entry in tables.entries(LATEST_FOLDER):
        named = Table.of(f"{LATEST_FOLDER}/{entry.name}")
        if entry.is_folder and tables.has(named):
            topic = tables.unchecked_state(named).settings.get(_TOPIC, "")
            made = latest_table(topic)
            if made.table.name != named.name:
                raise LatestTableError(table=named.name)
            found.append(made)
    return sorted(found, key=lambda each: each.table.name)


def create_latest(tables: LakeTables, topic: str) -> LatestTable:
    """Create the table `latest/<topic>` if it is missing; durable on return."""
    made = latest_table(topic)
    if not tables.has(made.table):
        # Rows are replaced, so the table must not be append-only.
        create_table(tables, made.table, {"delta.appendOnly": "false", _TOPIC: topic})
    return made


def places_as_info(source_id: str, places: Mapping[str, LogPlace]) -> dict[str, str]:
    """Return the commit info with the versions up to which a cluster's rows were read, by table."""
    return {PLACES: json.dumps({"source_id": source_id, **places})} if places else {}


def read_places(tables: LakeTables, table: Table, source_id: str) -> dict[str, LogPlace]:
    """Return the versions up to which a cluster's rows were read, by table; empty if unknown.

    Only the newest commit is used, if it is for this cluster.
    """
    info = commit_of(tables, table, tables.state(table).version)
    try:
        found = json.loads(info.get(PLACES, "{}"))
        if found.pop("source_id", None) != source_id:
            return {}
        return {name: LogPlace(int(version), str(sha)) for name, (version, sha) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
