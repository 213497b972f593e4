"""Rows of `schemas`, from the registries of a lake."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seglake.lake.delta_tables import LakeTables
from seglake.lake.replaced_rows import replace_rows
from seglake.lake.value_tables import SCHEMAS
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.value_codec.registry.schema_registry import StoredSchema

# Any: columns have values of many types.
Row = Mapping[str, Any]
_OF_A_RUN = ("run_id", "written_at")


def store_schemas(tables: LakeTables, registries: Sequence[LakeRegistry], run_id: str) -> None:
    """Update the rows of these registries in `schemas`; rows of other registries stay.

    Schemas that another run stored meanwhile stay, too, if no schema of these registries has their
    id, or their GUID if they have no id: later runs decode with all schemas of the table.
    """
    stamp = {"run_id": run_id, "written_at": time.time_ns() // 1000}
    found = [{**row, **stamp} for each in registries for row in _rows(each)]
    own = {(each.source_id, each.topic) for each in registries}

    def change(there: Sequence[Row]) -> Sequence[Row] | None:
        known = {_name(row) for row in found}
        kept = [
            row
            for row in there
            if (row["source_id"], row["registry"]) not in own
            or (row["schema"] is not None and _name(row) not in known)
        ]
        rows = [*kept, *found]
        return None if _plain(rows) == _plain(there) else rows

    replace_rows(tables, SCHEMAS, change, run_id=run_id)


def _name(row: Row) -> tuple[Any, ...]:
    """Return how records name the schema of a row: by its id, else by its GUID."""
    registry = row["source_id"], row["registry"], row["context"]
    return *registry, row["schema_id"] or row["guid"]


def _plain(rows: Iterable[Row]) -> list[str]:
    """Return rows of `schemas` as comparable texts, without the run and its time."""
    kept = [name for name in SCHEMAS.schema.names if name not in _OF_A_RUN]
    return sorted(json.dumps([row[name] for name in kept]) for row in rows)


def _rows(found: LakeRegistry) -> Iterator[dict[str, Any]]:
    """Yield a row for each schema of a registry, and for each record that cannot be read."""
    nothing = dict.fromkeys(SCHEMAS.schema.names)
    own = {**nothing, "source_id": found.source_id, "registry": found.topic}
    for stored in found.registry.schemas:
        problem = found.registry.problem(stored) or None
        yield own | stored.facts() | _schema(stored) | {"problem": problem}
    for at, reason in found.registry.unread:
        yield own | {"problem": reason} | (at._asdict() if at else {})


def _schema(stored: StoredSchema) -> dict[str, Any]:
    content = stored.content
    references = [reference._asdict() for reference in content.references]
    return {
        "schema_id": stored.schema_id,
        "schema": content.text.encode("utf-8", "replace").decode(),
        "references": json.dumps(references) if references else None,
    }
