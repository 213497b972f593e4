"""Typed rows and rejects compared with the oracle of the typed disk."""

import base64
import json
from pathlib import Path
from typing import Any

from support.json_values import oracle_value, rebuilt, same
from support.lakes import read_table
from support.protobuf_oracle import PROTOBUF_IDS, is_same_message
from support.typed_disk import Json, manifest, oracle_records
from support.typed_rows import (
    Row,
    columns_of,
    differs,
    table_rows,
    typed_columns,
    typed_names,
    typed_rows,
)

_POSITION_IN_BODY = ("glue_like", 0, 124)  # the oracle leaves out the frame of this one only


def all_rows(lake: Path, topic: str) -> list[Row]:
    """The rows of all of a topic's tables."""
    return [row for name in typed_names(lake, topic) for row in typed_rows(lake, name)]


def rejects(lake: Path, topic: str) -> list[Row]:
    """The rejects of a topic's keys and values."""
    return [row for row in table_rows(lake, "value_rejects") if row["topic"] == topic]


def ingested_records(lake: Path, topic: str) -> list[Json]:
    """The oracle's records that the lake has: all but those of aborted transactions."""
    there = {
        (row["partition"], row["offset"])
        for row in read_table(lake, "records")
        if row["topic"] == topic
    }
    return [r for r in oracle_records(topic) if (r["partition"], r["offset"]) in there]


def differing_values(lake: Path, topic: str) -> list[object]:
    """Return the rows and rejects of a topic that differ from the oracle."""
    rows = {
        (row["_partition"], row["_offset"]): (name, row)
        for name in typed_names(lake, topic)
        for row in typed_rows(lake, name)
    }
    refused = {(row["partition"], row["offset"], row["part"]): row for row in rejects(lake, topic)}
    found: list[object] = []
    if len(rows) != len(all_rows(lake, topic)):
        found.append("a record has two rows")
    names = {name: typed_columns(lake, name) for name in typed_names(lake, topic)}
    for record in ingested_records(lake, topic):
        place = record["partition"], record["offset"]
        table, row = rows.get(place, ("", None))
        reject = refused.get((*place, "value"))
        if (row is None) == (reject is None):
            found.append((place, "both or none", row, reject))
        elif row is None:
            is_certain = (topic, *place) != _POSITION_IN_BODY
            found += [
                (place, each) for each in _reject_differs(record["value"], reject, is_certain)
            ]
        else:
            form = manifest()["topics"][topic]["value"]
            is_json = form == "json" or topic.startswith("json_schema")
            form = "json" if is_json else form
            text = _row_differs(record["value"], row, form, names[table])
            found += [(place, text)] if text else []
    return found


def is_kept(outcome: Json, reason: str | None) -> bool:
    """Return whether a row, or a reject with a reason, agrees with the oracle's outcome."""
    if reason is None:
        return "reject" not in outcome or "or_ok" in outcome
    wanted = {outcome.get("reject"), outcome.get("or_reject"), *outcome.get("also", ())}
    # The oracle has no reason of its own for a message index out of range.
    wanted |= {"bad_message_index"} if "bad_varint" in wanted else set()
    return reason in wanted


def _reject_differs(outcome: Json, reject: Row | None, is_certain: bool) -> list[str]:
    """Return the fields of a reject that differ from the oracle's outcome."""
    assert reject is not None
    found = [] if is_kept(outcome, reject["reason"]) else [f"{reject['reason']}: {outcome}"]
    position = outcome.get("position", reject["position"])
    if is_certain and reject["reason"] == outcome.get("reject") and reject["position"] != position:
        found.append(f"position {reject['position']}: {outcome}")
    return found


def _row_differs(outcome: Json, row: Row, form: str, names: dict[str, str]) -> str:
    """Return how a row differs from the oracle; "" if it does not."""
    columns = columns_of(row)
    if "null" in outcome:
        return "" if row["_tombstone"] and not any(columns.values()) else "tombstone"
    if not is_kept(outcome, None):
        return f"{row} is a row: {outcome}"
    if row["_tombstone"] or row["_schema_id"] != outcome.get("schema_id", row["_schema_id"]):
        return f"{row['_schema_id']}: {outcome}"
    value = outcome.get("ok", outcome.get("or_ok"))
    if outcome.get("schema_id") in PROTOBUF_IDS:
        return "" if is_same_message(dict(value or {}), columns) else f"{columns} is not {value}"
    if form == "json":
        named: Row = {}
        for name, cell in columns.items():
            if named.get(names[name]) is None:
                named[names[name]] = cell
        return json_differs(named, oracle_value(value))
    whole = columns.pop("value__json", None) if form == "connect-json" else None
    if whole is not None:
        return "" if json.loads(whole) == value else f"{whole} is not {value}"
    is_record = isinstance(value, dict) and not any(name.startswith("$") for name in value)
    return differs(columns, value if is_record else {"value": value})


def json_differs(named: Row, expected: Any) -> str:
    """Return how a row of JSON, by its fields, differs from an exact value; "" if it does not."""
    whole = named.pop("value__json")
    found = rebuilt({**named, "value__json": whole}, is_object="__json_" not in named)
    return "" if same(found, expected) else f"{found} is not {expected}"


def differing_keys(lake: Path, topic: str) -> list[object]:
    """Return the keys of a topic that differ from the oracle."""
    rows = {(row["_partition"], row["_offset"]): row for row in all_rows(lake, topic)}
    refused = {(r["partition"], r["offset"]): r for r in rejects(lake, topic) if r["part"] == "key"}
    found: list[object] = []
    for record in ingested_records(lake, topic):
        place, outcome = (record["partition"], record["offset"]), record["key"]
        if "reject" in outcome:
            if place not in refused or not is_kept(outcome, refused[place]["reason"]):
                found.append((place, outcome))
        elif place in rows:
            row = rows[place]
            keys = {n: v for n, v in row.items() if n == "_key" or n.startswith("_key__")}
            raw = outcome.get("raw")
            is_raw = raw is not None and keys["_key"] == base64.b64decode(raw)
            text = "" if is_raw else differs(keys, {"_key": outcome.get("ok")})
            if text or row["_key_raw"] is not None:
                found.append((place, text, row["_key_raw"]))
    return found
