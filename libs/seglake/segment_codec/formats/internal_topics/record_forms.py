"""Loads the layouts of records in internal topics: a key and a value for each record type.

The layouts are data: each topic has a TOML file with its name beside this module.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from seglake.segment_codec.formats.internal_topics.message_layout import Layout

UNKNOWN = "unknown"
"""Kind of a record whose type is not in the TOML file of its topic."""
_NO_FIELDS = Layout("")


class Form(NamedTuple):
    """Layouts of a record type.

    Attributes:
        kind: name of the type.
        key: layout of the key; it has no fields in topics without keys.
        value: layout of the value; None if values of this type are not parsed.
    """

    kind: str
    key: Layout
    value: Layout | None


@cache
def forms_of(topic: str) -> Mapping[int, Form]:
    """Return the forms of a topic's records, by record type.

    Args:
        topic: name of the topic without the two underscores, such as `consumer_offsets`.
    """
    from importlib.resources import files  # 5 ms that runs without internal topics save

    table = tomllib.loads(files(__package__).joinpath(f"{topic}.toml").read_text("utf-8"))
    keys = {name: Layout(fields) for name, fields in table.get("keys", {}).items()}
    return {
        number: Form(row["name"], keys[row["key"]] if "key" in row else _NO_FIELDS, _value(row))
        for row in table["records"]
        for number in row["types"]
    }


def _value(row: Mapping[str, Any]) -> Layout | None:
    """Return the layout of a record's value; by default, all versions are flexible."""
    if "fields" not in row:
        return None
    return Layout(row["fields"], row.get("newest", 0), row.get("flexible", 0))
