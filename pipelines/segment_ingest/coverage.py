"""What earlier runs have taken, as the ledger says."""

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.segment_ingest.partition_log import PartitionKey

OffsetRange = tuple[int, int]


class Coverage:
    """The ledger's rows of one source, ready to be asked.

    Rows without a topic id belong to the first id that is known for their topic.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        self._isolations: dict[str, str] = {}
        for row in sorted(rows, key=lambda row: row["generation"]):
            self._rows.setdefault((row["topic"], row["partition"]), []).append(row)
            self._isolations.setdefault(row["topic"], row["isolation"])

    def isolation(self, topic: str) -> str | None:
        """With which isolation the topic was taken first."""
        return self._isolations.get(topic)

    def latest_topic_id(self, topic: str, partition: int) -> str | None:
        """The topic id of the newest row that has one."""
        ids = self._ids(topic, partition)
        return ids[-1] if ids else None

    def ranges(self, key: PartitionKey) -> list[OffsetRange]:
        """The covered ranges of a partition, merged and in order."""
        ids = self._ids(key.topic, key.partition)
        first_id = ids[0] if ids else key.topic_id
        found = [
            (row["start_offset"], row["next_offset"])
            for row in self._rows.get((key.topic, key.partition), [])
            if row["kind"] == "ingest" and (row["topic_id"] or first_id) == key.topic_id
        ]
        return merged(found)

    def _ids(self, topic: str, partition: int) -> list[str]:
        rows = self._rows.get((topic, partition), [])
        return [row["topic_id"] for row in rows if row["topic_id"] is not None]


def merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Half-open ranges in order, those that touch made one."""
    result: list[OffsetRange] = []
    for start, stop in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(stop, result[-1][1]))
        elif start < stop:
            result.append((start, stop))
    return result


def subtracted(wanted: OffsetRange, covered: Iterable[OffsetRange]) -> list[OffsetRange]:
    """What of a range no covered range holds; `covered` is merged."""
    start, stop = wanted
    rest: list[OffsetRange] = []
    for covered_start, covered_stop in covered:
        if covered_stop <= start or covered_start >= stop:
            continue
        if covered_start > start:
            rest.append((start, covered_start))
        start = covered_stop
    if start < stop:
        rest.append((start, stop))
    return rest
