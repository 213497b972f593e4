"""Makes the files of an export of a registry's schemas, for programs and people.

`schemas.json` has every schema with subject, version and id, in the form of the registry's `GET
/schemas`. Each id also has a file with the text of its schema. Ids of other contexts are in a
folder for each context.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from seglake.value_codec.registry.schema_registry import SchemaRegistry, StoredSchema
from seglake.value_codec.registry.schemas import SchemaType

_ENDINGS: Mapping[str, str] = {
    SchemaType.AVRO: "avsc",
    SchemaType.PROTOBUF: "proto",
    SchemaType.JSON: "json",
}


def exported_files(registry: SchemaRegistry) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield each file of an export: its names below the export's folder, and its content."""
    values = [_value(stored) for stored in registry.schemas]
    listed = json.dumps(values, ensure_ascii=False, indent=1)
    yield ("schemas.json",), _encoded(f"{listed}\n")
    ids = dict.fromkeys((s.place.context, s.schema_id) for s in registry.schemas)
    for context, schema_id in ids:
        for number, stored in enumerate(registry.of_id(context, schema_id)):
            ending = _ENDINGS.get(stored.content.schema_type, "txt")
            again = f"-{number + 1}" if number else ""
            folders = () if context == "." else (_folder(context),)
            yield (*folders, f"{schema_id}{again}.{ending}"), _encoded(stored.content.text)


def _folder(context: str) -> str:
    """Return a safe folder name for a context: neither hidden nor a path to another folder.

    >>> _folder(".lab"), _folder("../a/b")
    ('lab', '%2E%2Fa%2Fb')
    """
    name = quote(context.removeprefix("."), safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _encoded(text: str) -> bytes:
    """Encode a text as UTF-8, with question marks for lone surrogates, which JSON may contain."""
    return text.encode("utf-8", "replace")


# Any: the types that JSON can hold.
def _value(stored: StoredSchema) -> dict[str, Any]:
    """Return a schema as the registry's value object, without empty members."""
    content = stored.content
    members = {
        "subject": stored.place.subject,
        "version": stored.place.version,
        "id": stored.schema_id,
        "guid": str(stored.guid),
        "schemaType": None if content.schema_type == SchemaType.AVRO else content.schema_type,
        "references": [reference._asdict() for reference in content.references],
        "metadata": content.metadata,
        "ruleSet": content.rule_set,
        "schema": content.text,
    }
    kept = {name: value for name, value in members.items() if value}
    return {**kept, "schema": content.text, "deleted": stored.deletion is not None}
