"""Stores the rules of an erasure; each rule only once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from seglake.lake.appends import append_lacking
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.rule_table import ERASURES
from seglake.log_tables.erasure_rules import (
    NO_RULES,
    Place,
    RuleKind,
    TopicRules,
    hash_of_key,
    new_salt,
    rules_of,
)

# Any: a row's columns have many types.
_Row = dict[str, Any]
_Lacking = Callable[[Mapping[str, TopicRules]], Iterator[_Row]]

APP = "seglake/erase"
"""Application id whose generation in `erasures` advances with each commit."""


class RuleStore:
    """Adds rules to the table `erasures`, each only once."""

    def __init__(
        self, tables: LakeTables, *, run_id: str, reason: str, after: Callable[[str], None]
    ) -> None:
        """Store the lake, the run's label, the reason of the erasure, and a hook for tests."""
        self._tables = tables
        self._run_id = run_id
        self._reason = reason
        self._after = after
        self._new: dict[str, bytes] = {}  # salts of topics that have no rule yet
        self.added = 0  # number of stored rules

    def salts(self, topics: Sequence[str]) -> dict[str, bytes]:
        """Return the salt of each topic, from its earlier rules, or a new one."""
        return {topic: self._salt(topic, rules_of(self._tables).get(topic)) for topic in topics}

    def have_key(self, topics: Sequence[str], key: bytes) -> bool:
        """Return whether all topics have a rule for a key."""
        known = rules_of(self._tables)
        return all(_has_key(known.get(topic, NO_RULES), key) for topic in topics)

    def add_key(self, topics: Sequence[str], key: bytes) -> None:
        """Store a rule for a key in each topic that lacks it."""

        def lacking(known: Mapping[str, TopicRules]) -> Iterator[_Row]:
            for topic in topics:
                if not _has_key(known.get(topic, NO_RULES), key):
                    salt = self._salt(topic, known.get(topic))
                    found = {"salt": salt, "hash": hash_of_key(salt, key)}
                    yield {"topic": topic, "kind": str(RuleKind.KEY), **found}

        self._append(lacking)

    def add_records(self, places: pa.Table, salts: Mapping[str, bytes]) -> None:
        """Store a rule for each found record without a rule.

        Args:
            places: positions of the records, in columns of `found_rows.PLACE_SCHEMA`.
            salts: salt of the records' hashes, by topic.
        """

        def lacking(known: Mapping[str, TopicRules]) -> Iterator[_Row]:
            seen: set[tuple[str, Place, bytes]] = set()
            columns = ["topic", "partition", "offset", "hash"]
            for row in places.select(columns).to_pylist():
                topic, place = row["topic"], Place(row["partition"], row["offset"])
                salt, identity = salts[topic], (topic, place, row["hash"])
                there = known.get(topic, NO_RULES).records.get(place, {}).get(salt, frozenset())
                if identity not in seen and row["hash"] not in there:
                    seen.add(identity)
                    yield {**row, "kind": str(RuleKind.RECORD), "salt": salt}

        self._append(lacking)

    def _append(self, lacking: _Lacking) -> None:
        """Append the rules that the newest version of `erasures` lacks."""
        found = 0

        def files(handle: Handle) -> list[DataFile]:
            now = datetime.now(UTC)
            shared = {"reason": self._reason, "run_id": self._run_id}
            known = rules_of(self._tables, handle)
            rows = [{**row, **shared, "erased_at": now} for row in lacking(known)]
            nonlocal found
            found = len(rows)
            return self._written(rows) if rows else []

        append_lacking(
            self._tables,
            ERASURES,
            files,
            app=APP,
            run_id=self._run_id,
            after=self._after,
        )
        self.added += found

    def _written(self, rows: list[_Row]) -> list[DataFile]:
        tables = self._tables
        with ParquetFile(tables.storage, tables.lake_path, ERASURES, "") as file:
            file.write(pa.RecordBatch.from_pylist(rows, schema=ERASURES.file_schema))
            done = file.close()
        return [] if done is None else [done]

    def _salt(self, topic: str, rules: TopicRules | None) -> bytes:
        salts = [] if rules is None else rules.salts
        return salts[0] if salts else self._new.setdefault(topic, new_salt())


def _has_key(rules: TopicRules, key: bytes) -> bool:
    """Return whether the rules of a topic have one for a key."""
    return any(hash_of_key(salt, key) in hashes for salt, hashes in rules.keys.items())
