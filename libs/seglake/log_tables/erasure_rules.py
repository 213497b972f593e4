"""Stores the rules of erasures, and finds the records that they match.

A rule has no payload: only the salted hash (SHA-256) of a key, or of one record. All rules of a
topic have the same salt, so each key is hashed only once.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.grouping import grouped
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.rule_table import ERASURES
from seglake.lake.table_creation import create_table

_SALT_BYTES = 16
_COLUMNS = ("topic", "kind", "partition", "offset", "salt", "hash")


class RuleKind(StrEnum):
    """Kind of an erasure rule."""

    KEY = "key"  # all records of the topic that have the key
    RECORD = "record"  # one record, identified by partition, offset, key and value


class Place(NamedTuple):
    """Partition and offset of a record."""

    partition: int
    offset: int


class TopicRules(NamedTuple):
    """Erasure rules of one topic.

    Attributes:
        keys: hashes of keys, by salt.
        records: hashes of records by salt, by the record's place.
    """

    keys: Mapping[bytes, frozenset[bytes]]
    records: Mapping[Place, Mapping[bytes, frozenset[bytes]]]

    def of(self, partitions: Collection[int]) -> "TopicRules":
        """Return the topic's rules that may match records of these partitions."""
        found = {place: each for place, each in self.records.items() if place[0] in partitions}
        return self._replace(records=found)

    @property
    def salts(self) -> list[bytes]:
        """Return the salts of all rules, sorted."""
        of_records = {salt for each in self.records.values() for salt in each}
        return sorted({*self.keys, *of_records})

    def match(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        """Return for each row of `records`, all of this topic, whether a rule matches it."""
        found = np.zeros(rows.num_rows, np.bool_)
        if self.keys:
            found |= self._match_keys(rows)
        if self.records:
            found |= self._match_records(rows)
        return found

    def _match_keys(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        """Return for each row whether a rule has its key; each key is hashed once."""
        # Any: pyarrow's stubs do not know the column's type.
        column: Any = rows.column("key").cast(pa.binary())
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        encoded = column.dictionary_encode()
        keys: list[bytes] = encoded.dictionary.to_pylist()
        is_match = np.zeros(len(keys) + 1, np.bool_)  # the last element stands for null
        for salt, hashes in self.keys.items():
            has_rule = [sha256(salt + key).digest() in hashes for key in keys]
            is_match[:-1] |= np.array(has_rule, np.bool_)
        places = encoded.indices.fill_null(len(keys)).to_numpy()
        found: NDArray[np.bool_] = is_match[places]
        return found

    def _match_records(self, rows: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        """Return for each row whether a rule has its partition, offset and content."""
        found = np.zeros(rows.num_rows, np.bool_)
        partitions, offsets = numbers(rows, "partition"), numbers(rows, "offset")
        ruled = np.array([place.offset for place in self.records], np.int64)
        for index in np.flatnonzero(np.isin(offsets, ruled)).tolist():
            place = Place(int(partitions[index]), int(offsets[index]))
            key, value = (rows.column(name)[index].as_py() for name in ("key", "value"))
            found[index] = any(
                hash_of_record(salt, place, key, value) in hashes
                for salt, hashes in self.records.get(place, {}).items()
            )
        return found


NO_RULES = TopicRules({}, {})


def hash_of_key(salt: bytes, key: bytes) -> bytes:
    """Return the hash of a key in a rule."""
    return sha256(salt + key).digest()


def hash_of_record(salt: bytes, place: Place, key: bytes | None, value: bytes | None) -> bytes:
    """Return the hash of a record in a rule; lengths precede key and value, -1 for null."""
    found = sha256(salt)
    found.update(place.partition.to_bytes(4) + place.offset.to_bytes(8))
    for content in (key, value):
        length = -1 if content is None else len(content)
        found.update(length.to_bytes(8, signed=True) + (content or b""))
    return found.digest()


def new_salt() -> bytes:
    """Return a new random salt for the hashes of a topic's rules."""
    return os.urandom(_SALT_BYTES)


def create_erasures(tables: LakeTables) -> None:
    """Create the table `erasures`, if it is missing."""
    if not tables.has(ERASURES):
        create_table(tables, ERASURES, {})


def rules_of(tables: LakeTables, handle: "Handle | None" = None) -> dict[str, TopicRules]:
    """Return the rules by topic, at a handle's version or the newest one; empty without a table.

    Raises:
        StorageError: the lake cannot be read.
    """
    if handle is None and not tables.has(ERASURES):
        return {}
    rows = [
        row
        for path in tables.file_paths(ERASURES, handle=handle)
        for part in read_rows(tables.storage, path, _COLUMNS)
        for row in part.to_pylist()
    ]
    return {topic: _rules(own) for topic, own in grouped((r["topic"], r) for r in rows).items()}


def rules_for(
    rules: Mapping[str, TopicRules], partitions: Iterable[tuple[str, int]]
) -> dict[str, TopicRules]:
    """Return the rules that may match records of some partitions, by topic.

    Args:
        rules: rules by topic.
        partitions: topic and number of each partition.
    """
    if not rules:
        return {}
    numbers_of = grouped(partitions)
    return {topic: rules[topic].of(own) for topic, own in numbers_of.items() if topic in rules}


# Any: a row's columns have many types.
def _rules(rows: Iterable[Mapping[str, Any]]) -> TopicRules:
    keys: dict[bytes, set[bytes]] = {}
    records: dict[Place, dict[bytes, set[bytes]]] = {}
    for row in rows:
        if row["kind"] == RuleKind.KEY:
            by_salt = keys
        else:
            by_salt = records.setdefault(Place(row["partition"], row["offset"]), {})
        by_salt.setdefault(row["salt"], set()).add(row["hash"])
    return TopicRules(
        {salt: frozenset(hashes) for salt, hashes in keys.items()},
        {
            place: {salt: frozenset(hashes) for salt, hashes in each.items()}
            for place, each in records.items()
        },
    )
