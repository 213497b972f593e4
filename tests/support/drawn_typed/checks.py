"""Compares typed tables and rejects with what must have become of drawn records."""

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path

from support.drawn_typed.clusters import DrawnCluster, DrawnRecord, Place
from support.drawn_typed.columns import TableColumns, illegal_columns
from support.drawn_typed.topics import Part
from support.lakes import read_table
from support.typed_oracle import json_differs
from support.typed_rows import Row, columns_of, table_rows, typed_names, typed_rows

_UNKNOWN = {"unknown_schema_id", "unknown_guid"}


class Known(Enum):
    """Schemas that the runs of `deserialize` knew."""

    SOME = auto()  # some were missing when the last run ended
    LATER = auto()  # all when rejects were decoded again, so that others have their first reason
    ALL = auto()  # all when everything was decoded


def problems(lake: Path, cluster: DrawnCluster, parts: int, known: Known) -> Iterator[str]:
    """Yield what is wrong in a lake.

    Args:
        lake: the lake.
        cluster: what it was ingested from.
        parts: how many parts of the topics it has.
        known: which schemas the runs knew.
    """
    columns, standing = table_rows(lake, "typed_columns"), _standing(lake)
    for topic in sorted({topic for topic, _, _ in cluster.records}):
        expected = {
            place: record
            for place, record in cluster.records.items()
            if place[0] == topic and record.part < parts and record.is_committed
        }
        rows: dict[Place, tuple[str, Row]] = {}
        for name in typed_names(lake, topic) if (lake / "typed").exists() else ():
            yield from illegal_columns(lake, name)
            for row in typed_rows(lake, name):
                place = topic, row["_partition"], row["_offset"]
                if place in rows:
                    yield f"{place} is twice, in {name}"
                rows[place] = name, row
        if known is Known.SOME and not rows and not any(place[0] == topic for place, _ in standing):
            continue  # its form is not known yet
        if len({name for name, row in rows.values() if row["_tombstone"]}) > 1:
            yield f"tombstones of {topic} are in several tables"
        if others := {*rows} - {*expected}:
            yield f"no record is at {sorted(others)[:3]}"
        yield from _differing(expected, rows, (columns, lake, standing), known)


def _differing(
    expected: dict[Place, DrawnRecord],
    rows: dict[Place, tuple[str, Row]],
    tables: tuple[list[Row], Path, dict[tuple[Place, str], Row]],
    known: Known,
) -> Iterator[str]:
    """Yield how rows and rejects of a topic differ from its records."""
    columns, lake, standing = tables
    of = {
        (name, part): TableColumns(columns, (lake, name), part)
        for name in {name for name, _ in rows.values()}
        for part in ("key", "value")
    }
    for place, record in expected.items():
        name, row = rows.get(place) or ("", None)
        for part, drawn in (("key", record.key), ("value", record.value)):
            found = row, standing.get((place, part))
            if text := _part_differs(part, drawn, found, of.get((name, part)), known):
                yield f"{place} {part}: {text}"


def _part_differs(
    part: str,
    drawn: Part,
    found: tuple[Row | None, Row | None],
    columns: TableColumns | None,
    known: Known,
) -> str:
    row, reject = found
    outcome = drawn.outcome
    if part == "value" and (row is None) == (reject is None):
        return f"both or none: {row} and {reject}"
    if reject is not None:
        is_early = known is Known.SOME or (
            known is Known.LATER and (part == "key" or not outcome.forms)
        )
        return _reject_differs(drawn, reject, is_early=is_early)
    if row is None or columns is None:  # a key whose value was rejected
        return "" if outcome.forms or not outcome.reasons else "it is no reject"
    if drawn.content is None:
        cells = columns_of(row) if part == "value" else _key(row)
        is_null = part == "key" or row["_tombstone"]
        return "" if is_null and not any(cells.values()) else f"{row} is no null"
    if part == "key" and not outcome.forms and not outcome.reasons:
        return "" if row["_key"] == drawn.content else f"{row['_key']} is not {drawn.content!r}"
    if part == "key" and known is not Known.ALL and row["_key"] == drawn.content:
        return ""  # no schema was known when the form of the keys was chosen, until a rebuild
    if not outcome.forms:
        return f"{row} is a row, not {sorted(outcome.reasons)}"
    if part == "key":
        return columns.differs(_key(row), {"_key": outcome.forms[0]})
    form = outcome.forms[0]
    if outcome.is_json:
        return json_differs(columns.by_field(row), form)
    is_record = isinstance(form, dict) and not outcome.is_wrapped
    return columns.differs(columns_of(row), form if is_record else {"value": form})


def _key(row: Row) -> Row:
    return {n: v for n, v in row.items() if n == "_key" or n.startswith("_key__")}


def _reject_differs(drawn: Part, reject: Row, *, is_early: bool) -> str:
    """How a reject differs from what must have become of a key or a value; "" if it does not.

    Args:
        is_early: whether its schema may have been unknown when it was rejected.
    """
    is_early &= reject["reason"] in _UNKNOWN
    if not is_early and reject["reason"] not in drawn.outcome.reasons:
        return f"{reject} is none of {sorted(drawn.outcome.reasons)}"
    if reject["raw"] != drawn.content:
        return f"{reject['raw']} is not {drawn.content!r}"
    position = reject["position"]
    is_inside = position is None or 0 <= position <= len(drawn.content or b"")
    return "" if is_inside else f"{reject} is outside of the value"


def _standing(lake: Path) -> dict[tuple[Place, str], Row]:
    """The rejects that no row resolves, by place and part."""
    counts: dict[tuple[Place, str], int] = defaultdict(int)
    found: dict[tuple[Place, str], Row] = {}
    for row in table_rows(lake, "value_rejects"):
        key = (row["topic"], row["partition"], row["offset"]), row["part"]
        counts[key] += 1 if row["resolution"] is None else -1
        found[key] = row
    return {key: found[key] for key, count in counts.items() if count > 0}


def standing_count(lake: Path) -> int:
    """How many keys and values are rejected, and not resolved."""
    return len(_standing(lake))


def checkpoint_problems(lake: Path) -> Iterator[str]:
    """Yield what `typed_checkpoints` and the tables count otherwise."""
    sums = {"records": 0, "typed_rows": 0, "value_rejects": 0, "key_rejects": 0}
    for row in table_rows(lake, "typed_checkpoints"):
        for name in sums:
            sums[name] += row[name]
    typed = sum(len(typed_rows(lake, path.name)) for path in (lake / "typed").glob("*"))
    standing = _standing(lake)
    values = sum(part == "value" for _, part in standing)
    if (sums["typed_rows"], sums["value_rejects"]) != (typed, values):
        yield f"checkpoints have {sums}, the tables {typed} rows and {values} rejected values"
    if sums["records"] != typed + values:
        yield f"checkpoints have {sums['records']} records, the tables {typed + values}"


def record_problems(lake: Path, cluster: DrawnCluster, parts: int) -> Iterator[str]:
    """Yield where `records` differs from what was written and committed."""
    found = {
        (row["topic"], row["partition"], row["offset"]): (row["key"], row["value"])
        for row in read_table(lake, "records")
        if row["topic"] != "_schemas"
    }
    wanted = {
        place: (record.key.content, record.value.content)
        for place, record in cluster.records.items()
        if record.part < parts and record.is_committed
    }
    if found != wanted:
        yield f"records differ at {sorted({*found} ^ {*wanted})[:5]}"
