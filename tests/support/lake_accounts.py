"""The rows of a lake as its logs say, read without the product and without delta-rs.

Two lakes of the same disks are equal when `rows_of` is, however many runs and commits made them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

# Any: the values of columns of many types.
Row = dict[str, Any]

_FOLLOWERS = ("batches", "quarantine", "gaps")
_EVERY_TABLE = ("records", *_FOLLOWERS, "checkpoints")
_OF_A_RUN = ("run_id", "attempt_id", "generation", "quarantined_at", "committed_at", "observed_at")
_OF_A_LISTING = ("waiting_since", "listing", "first_log_end_offset")
_LOG = ("source_id", "topic_id", "topic", "partition")
_SUMS: tuple[str, ...] = ("records", "batches", "quarantined_batches", "bytes", "offset_sum")
_SUMS += ("key_bytes", "value_bytes")
_ROWS = ("ingest", "repair", "retake")


class OddLogError(Exception):
    """A Delta log that this reader does not understand."""


def rows_of(lake: Path) -> dict[str, list[str]]:
    """Each table's rows, sorted, doubles kept, less what every run makes anew.

    The ledger's ranges are joined where they meet, with their sums; of what runs saw the last
    stands.
    """
    found = {path.parent.name: _rows(path.parent) for path in sorted(lake.glob("*/_delta_log"))}
    found["checkpoints"] = _joined(found["checkpoints"])
    seen = {tuple(row[name] for name in _LOG): row for row in found.get("observations", [])}
    last = max((row["observed_at"] for row in seen.values()), default=None)
    # A place that was not read has no topic, and is unread no more where a later run says nothing.
    found["observations"] = [
        row for row in seen.values() if row["topic"] is not None or row["observed_at"] == last
    ]
    return {
        name: sorted(
            str({k: v for k, v in row.items() if k not in _left_out(name)}) for row in rows
        )
        for name, rows in found.items()
    }


def records_of(lake: Path) -> list[tuple[str, int, int, bytes]]:
    """Topic, partition, offset and value of every record, sorted."""
    rows = _rows(lake / "records")
    return sorted((row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def incomplete(lake: Path) -> list[str]:
    """Return one line for each published range that is not complete; valid at any moment."""
    rows = {name: _rows(lake / name) for name in _EVERY_TABLE}
    by_commit: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows["records"]:
        by_commit[*(row[name] for name in _LOG), row["generation"]].append(row["offset"])
    wrong = []
    for row in rows["checkpoints"]:
        if row["kind"] in _ROWS:
            own = by_commit[*(row[name] for name in _LOG), row["generation"]]
            inside = [n for n in own if row["start_offset"] <= n < row["next_offset"]]
            if (len(inside), sum(inside)) != (row["records"], int(row["offset_sum"])):
                wrong.append(f"{row['topic']}-{row['partition']}: {len(inside)} rows of {row}")
    apps = {name: _apps(lake / name) for name in _EVERY_TABLE}
    for app, generation in apps["checkpoints"].items():
        behind = [name for name in _EVERY_TABLE if apps[name].get(app, 0) < generation]
        wrong += [f"{app} is published at {generation}, and {name} is not" for name in behind]
    return wrong


def unpublished(lake: Path) -> list[str]:
    """Return one line for each topic whose newest commit is decided, but not published."""
    apps = {name: _apps(lake / name) for name in _EVERY_TABLE}
    return [
        f"{app}: {[apps[name].get(app) for name in _EVERY_TABLE]}"
        for app in sorted({app for of_table in apps.values() for app in of_table})
        if len({apps[name].get(app) for name in _EVERY_TABLE}) != 1
    ]


def left_behind(lake: Path) -> list[str]:
    """The files that tell of unfinished commits."""
    return [path.name for path in sorted(lake.glob("records/_seglake/redo/*.json"))]


def _left_out(table: str) -> tuple[str, ...]:
    return (*_OF_A_RUN, *(_OF_A_LISTING if table == "observations" else ()))


def _entries(table: Path) -> Iterable[Row]:
    """The actions of a table's log, in order."""
    paths = sorted((table / "_delta_log").glob("*.json"))
    if [int(path.stem) for path in paths] != [*range(len(paths))]:
        raise OddLogError(f"{table} has {[path.name for path in paths]}")
    for path in paths:
        yield from map(json.loads, path.read_text().splitlines())


def _rows(table: Path) -> list[Row]:
    """Return the rows of a table in the order of their commits."""
    files: dict[str, Row] = {}
    for entry in _entries(table):
        if "add" in entry:
            files[entry["add"]["path"]] = entry["add"]["partitionValues"]
        elif "remove" in entry:
            del files[entry["remove"]["path"]]
    return [
        {**row, **values}
        for path, values in files.items()
        for row in pq.ParquetFile(table / unquote(path)).read().to_pylist()
    ]


def _apps(table: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in _entries(table):
        if "txn" in entry and entry["txn"]["appId"] != "seglake/maintain":
            found[entry["txn"]["appId"]] = entry["txn"]["version"]
    return found


def _joined(ledger: list[Row]) -> list[Row]:
    """Ranges of one kind that meet, as one."""
    found: list[Row] = []
    for row in sorted(ledger, key=lambda row: (*map(str, _key(row)), row["start_offset"])):
        last = found[-1] if found else None
        if last is None or _key(last) != _key(row) or last["next_offset"] != row["start_offset"]:
            found.append(dict(row))
            continue
        times = {
            "min_timestamp_ms": _least(min, last["min_timestamp_ms"], row["min_timestamp_ms"]),
            "max_timestamp_ms": _least(max, last["max_timestamp_ms"], row["max_timestamp_ms"]),
        }
        sums = {name: last[name] + row[name] for name in _SUMS}
        found[-1] = {**row, **sums, **times, "start_offset": last["start_offset"]}
    return found


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in (*_LOG, "kind"))


# Any: min or max, and times that may not be there.
def _least(choose: Any, *times: int | None) -> int | None:
    known = [time for time in times if time is not None]
    return choose(known) if known else None
