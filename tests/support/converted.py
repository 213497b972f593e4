"""Copies of the brokers' disks that were ingested, and where they may differ from the oracles."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support import broker_disks
from support.broker_disks import PartitionFacts
from support.lakes import Row
from support.oracle import Isolation


class Log(NamedTuple):
    scenario: str
    copy: str
    topic: str
    partition: int


KNOWN_BOUNDS = {
    # The disks were copied while followers lagged: no copy's high watermark was higher yet. The
    # consumer read later, when they had caught up.
    Log("08_replicas", "lagging", "rep", 0): 135,
    # The leader wrote its high watermark a few seconds before it was copied.
    Log("08_replicas", "follower_down", "rep", 1): 135,
    # After kill -9 the high watermark on the disk is old. The consumer read after the recovery.
    Log("10_crash", "killed", "cr-plain", 0): 572,
    Log("10_crash", "killed", "cr-pre", 0): 731,
}

LOCAL_STARTS = {
    # What lies below is in the remote tier only; the consumer was given it from there.
    Log("12_tiered", "stopped", "ti", 0): 375,
    Log("12_tiered", "stopped", "ti", 1): 345,
}

_NOT_CONSUMED = {
    # Internal logs that no consumer was asked to read, each with the high watermark on its disk.
    Log("05_compacted", "before", "__transaction_state", 1): 16,
    Log("05_compacted", "before", "__transaction_state", 3): 10,
    Log("05_compacted", "after", "__transaction_state", 1): 22,
    Log("05_compacted", "after", "__transaction_state", 3): 13,
    Log("10_crash", "killed", "__transaction_state", 2): 5,
    Log("10_crash", "recovered", "__transaction_state", 2): 5,
    Log("11_kraft", "stopped", "__cluster_metadata", 0): 109,  # the end of its newest snapshot
    Log("12_tiered", "stopped", "__transaction_state", 3): 25,
}


@dataclass
class Converted:
    """One copy of the disks in one isolation: what two runs said, and what is in the tables."""

    scenario: str
    copy: str
    isolation: Isolation
    lake: Path
    summary: IngestSummary
    second_summary: IngestSummary
    versions: dict[str, int]
    second_versions: dict[str, int]
    tables: dict[str, pa.Table]

    @cached_property
    def records(self) -> dict[tuple[str, int], list[Row]]:
        """Return the rows of `records` by log, in the order of their offsets."""
        return _by_partition(self.tables["records"], "offset")

    @cached_property
    def batches(self) -> dict[tuple[str, int], list[Row]]:
        """Return the rows of `batches` by log, in the order of their bytes."""
        return _by_partition(self.tables["batches"], "segment", "position")

    @property
    def consumed(self) -> tuple[PartitionFacts, ...]:
        """The partitions that a consumer read."""
        return broker_disks.partitions(self.scenario, self.copy)

    @property
    def not_consumed(self) -> tuple[PartitionFacts, ...]:
        return tuple(
            PartitionFacts(log.topic, log.partition, 0, high_watermark, None, 0, None)
            for log, high_watermark in _NOT_CONSUMED.items()
            if (log.scenario, log.copy) == (self.scenario, self.copy)
        )

    @property
    def partitions(self) -> tuple[PartitionFacts, ...]:
        return (*self.consumed, *self.not_consumed)

    def log(self, facts: PartitionFacts) -> Log:
        return Log(self.scenario, self.copy, facts.topic, facts.partition)

    def bound(self, facts: PartitionFacts) -> int:
        """Return the offset up to which the partition is ingested."""
        high_watermark = KNOWN_BOUNDS.get(self.log(facts), facts.high_watermark)
        if self.isolation is Isolation.READ_COMMITTED and facts.last_stable_offset is not None:
            return min(high_watermark, facts.last_stable_offset)
        return high_watermark


def _by_partition(table: pa.Table, *order: str) -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in table.sort_by([(name, "ascending") for name in order]).to_pylist():
        found[row["topic"], row["partition"]].append(row)
    return found
