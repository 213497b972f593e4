"""Reads the schemas that earlier runs stored in the table `schemas`.

A run that is given a schema with `--schemas` stores it, so that later runs decode the same values
without the file. A schema whose record has left the lake stays known, too.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from seglake.lake.delta_tables import LakeTables
from seglake.lake.value_tables import SCHEMAS
from seglake.value_codec.registry.registry_records import Deletion, Registration
from seglake.value_codec.registry.schemas import Reference, SchemaContent, SubjectVersion

_COLUMNS = (
    *("registry", "guid", "subject", "version", "schema_id", "schema_type", "schema", "references"),
    *("deletion", "is_encrypting"),
)
_ENCRYPTS = {"domainRules": [{"type": "ENCRYPT"}]}  # the table has no rules, only their effect


def earlier_schemas(tables: LakeTables, source_id: str, topic: str) -> list[Registration]:
    """Return the schemas of a registry in the table `schemas`; none if the lake lacks the table.

    Args:
        tables: the lake.
        source_id: the registry's cluster.
        topic: the registry's topic; other registries may have the same ids.
    """
    if not tables.has(SCHEMAS):
        return []
    rows = tables.rows(SCHEMAS, source_id, _COLUMNS).to_pylist()
    own = [row for row in rows if row["registry"] == topic and row["schema"] is not None]
    return [_registration(row) for row in own]


# Any: columns have values of many types.
def _registration(row: Mapping[str, Any]) -> Registration:
    content = SchemaContent(
        schema_type=row["schema_type"],
        text=row["schema"],
        references=tuple(Reference(**each) for each in json.loads(row["references"] or "[]")),
        rule_set=_ENCRYPTS if row["is_encrypting"] else None,
    )
    return Registration(
        SubjectVersion(row["subject"], row["version"]),
        row["schema_id"],
        content,
        deletion=Deletion(row["deletion"]) if row["deletion"] else None,
        guid=UUID(row["guid"]).bytes,
    )
