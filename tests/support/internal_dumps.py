"""Reads the output of Kafka's own decoders for records of internal topics.

The dump tool was run with `--offsets-decoder`, `--transaction-log-decoder` or
`--cluster-metadata-decoder`: it prints keys and values as JSON, and the transaction log of old
brokers as text of its own, which is read here into the same names.
"""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from support.broker_disks import log_dirs, unpacked

# Any: JSON.
Fields = dict[str, Any]

_FILE = re.compile(r"Dumping (?:.*/)?([^/]+)")
_LINE = re.compile(
    r"\| offset: (\d+) \w+: (-?\d+) .*? headerKeys: \[\]"
    r" (?:key: (?P<key>.*?) )?payload: (?P<value>.*)"
)
_OLD_KEY = re.compile(r"transaction_metadata::transactionalId=(.*)")
_OLD_VALUE = re.compile(
    r"producerId:(-?\d+),producerEpoch:(-?\d+),state=(\w+),partitions=\[(.*)\],"
    r"txnLastUpdateTimestamp=(-?\d+),txnTimeoutMs=(-?\d+)"
)
_OLD_STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit")
_DELETED = "<DELETE>"


class DumpedRecord(NamedTuple):
    """One record of a log or a snapshot; `value` is None for a tombstone.

    A key has `type`, a value has `version`, in text as Kafka prints them and only where it does;
    the message's own fields are under `data`, for metadata beside `type` and `version`.
    """

    file_name: str
    offset: int
    timestamp_ms: int
    key: Fields | None
    value: Fields | None


class DumpedPartition(NamedTuple):
    """An internal partition of a copy: its folder, and what the tool said of it."""

    folder: Path
    topic: str
    partition: int
    records: tuple[DumpedRecord, ...]


def internal_partitions(scenario: str, copy: str, topic: str) -> list[DumpedPartition]:
    """The topic's partitions that have a record, of a copy of one broker with one log dir."""
    (log_dir,) = log_dirs(scenario, copy)
    expected = unpacked(scenario) / "expected" / copy
    found = []
    for path in sorted(expected.glob(f"{topic}-*.dump.txt.gz")):
        name = path.name.removesuffix(".dump.txt.gz")
        text = gzip.decompress(path.read_bytes()).decode()
        records = tuple(dumped_records(text))
        if records:
            folder = log_dir.path / name
            found.append(DumpedPartition(folder, topic, int(name.rpartition("-")[2]), records))
    return found


def dumped_records(text: str) -> Iterator[DumpedRecord]:
    """The records of the text that are not control records."""
    file_name = ""
    for line in text.split("\n"):
        if found := _FILE.fullmatch(line):
            file_name = found[1]
        elif found := _LINE.fullmatch(line):
            yield DumpedRecord(
                file_name,
                int(found[1]),
                int(found[2]),
                None if found["key"] is None else _read(found["key"]),
                None if found["value"] == _DELETED else _read(found["value"]),
            )


def _read(text: str) -> Fields:
    if found := _OLD_KEY.fullmatch(text):
        return {"type": "0", "data": {"transactionalId": found[1]}}
    if found := _OLD_VALUE.fullmatch(text):
        return {"data": _old_value(found)}
    fields: Fields = json.loads(text)
    return fields


def _old_value(found: re.Match[str]) -> Fields:
    states = (*_OLD_STATES, "CompleteAbort")
    partitions = [name.rpartition("-") for name in found[4].split(",") if name]
    return {
        "producerId": int(found[1]),
        "producerEpoch": int(found[2]),
        "transactionStatus": states.index(found[3]),
        "partitions": {(topic, int(number)) for topic, _, number in partitions},
        "transactionLastUpdateTimestampMs": int(found[5]),
        "transactionTimeoutMs": int(found[6]),
    }
