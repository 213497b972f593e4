"""A lake of thousands of partitions with made-up rows, without one of our own writers.

Most partitions are fine, as in a cluster; some have everything that a report draws.
"""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from seglake.lake.tables import TABLES

SOURCE = "Y2x1c3Rlci13aXRoLXdpZHRo"
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
_RUNS = 24
_PARTITIONS_OF_A_TOPIC = 50
_SUPERSEDED_EVERY, _DAMAGED_EVERY, _MISSING_EVERY, _REMOTE_EVERY = 900, 250, 600, 40

Row = dict[str, Any]  # columns have many types


def write_wide_lake(
    lake: Path, partitions: int, *, topic: str | None = None, first_offset: int = 0
) -> None:
    """All tables; the ledger, gaps, damage and observations have rows, records have none.

    Args:
        topic: of all partitions; None for one of every fifty.
        first_offset: of all partitions.
    """
    rows: dict[str, list[Row]] = {"checkpoints": [], "gaps": [], "quarantine": []}
    rows["observations"] = []
    chance = random.Random(1)
    for index in range(partitions):
        _add_partition(rows, _named(index, topic), index, first_offset, chance)
    for table in TABLES:
        content = pa.Table.from_pylist(rows.get(table.name, []), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)


def _named(index: int, topic: str | None) -> Row:
    number, partition = divmod(index, _PARTITIONS_OF_A_TOPIC)
    name = f"team-{number % 17}.events-{number}" if topic is None else topic
    topic_id = f"id-of-{name}"[:22]
    return {"source_id": SOURCE, "topic_id": topic_id, "topic": name, "partition": partition}


def _add_partition(
    rows: dict[str, list[Row]], of: Row, index: int, first: int, chance: random.Random
) -> None:
    edges = [0, *sorted(chance.sample(range(1, 50_000_000), 3)), 50_000_000 + index]
    edges = [first + edge for edge in edges]
    for place in range(4):
        run = (index + place) % _RUNS if index % 7 else place
        start, stop = edges[place], edges[place + 1]
        rows["checkpoints"].append(_range(of, start, stop, place + 1, run, "ingest"))
    end = edges[-1]
    if not first:
        _add_gaps(rows, of, index, end, chance)
    if index % _SUPERSEDED_EVERY == 7:
        lost = _range(of, end - 9_000_000, end, 5, _RUNS - 1, "superseded")
        rows["checkpoints"].append(lost)
    left = chance.choice((0, 0, 0, 40, 70_000))
    rows["observations"].append(_observation(of, end, left, is_refused=index % 1500 == 3))


def _range(of: Row, start: int, stop: int, generation: int, run: int, kind: str) -> Row:
    return {
        **of,
        "kind": kind,
        "start_offset": start,
        "next_offset": stop,
        "records": (stop - start) * 9 // 10,
        "batches": (stop - start) // 50,
        "quarantined_batches": 0,
        "isolation": "read_committed",
        "upper_bound": "high_watermark",
        "last_stable_offset": stop,
        "high_watermark": stop,
        "log_end_offset": stop,
        "log_start_offset": 0,
        "leader_epoch": generation,
        "run_id": f"hourly-{run:02}",
        "attempt_id": f"attempt-{of['topic']}-{generation}",
        "committed_at": BEGAN + timedelta(hours=run),
        "generation": generation,
    }


def _add_gaps(
    rows: dict[str, list[Row]], of: Row, index: int, end: int, chance: random.Random
) -> None:
    def gap(start: int, stop: int, cause: str) -> None:
        attempt = f"attempt-{of['topic']}-1"
        offsets = {"start_offset": start, "next_offset": stop}
        rows["gaps"].append({**of, **offsets, "cause": cause, "attempt_id": attempt})

    # The attempt of generation 1 covers from offset 0 on; a gap counts where it starts.
    for start in chance.sample(range(1000, end - 2000, 100), 12 if index % 3 == 0 else 0):
        gap(start, start + 37, "compacted")
    if index % _REMOTE_EVERY == 0:
        gap(0, end // 5, "remote")
    if index % _MISSING_EVERY == 11:
        gap(end // 2, end // 2 + 1 + index, "missing")
    if index % _DAMAGED_EVERY == 5:
        gap(end // 3, end // 3 + 812, "quarantined")
        rows["quarantine"].append(_damage(of, end // 3, index))


def _damage(of: Row, offset: int, index: int) -> Row:
    return {
        **of,
        "broker_id": index % 6,
        "segment": f"{of['topic']}-{of['partition']}/{offset // 2:020d}.log",
        "position": 1_234_567 + index,
        "length_bytes": 16_384,
        "defect_code": "crc_mismatch",
        "defect_detail": "the checksum is 0x015c7677, the header states 0x7b986cca",
        "previous_offset": offset - 1,
        "next_offset": offset + 812,
        "raw": b"SECRET-PAYLOAD",
        "raw_sha256": f"{index:064x}",
        "run_id": "hourly-00",
        "quarantined_at": BEGAN,
        "generation": 1,
    }


def _observation(of: Row, end: int, left: int, *, is_refused: bool) -> Row:
    reason = f"{left} offsets above the high watermark {end} are not replicated yet"
    return {
        **of,
        "broker_id": 1,
        "log_start_offset": 0,
        "high_watermark": end,
        "last_stable_offset": end,
        "log_end_offset": end + left,
        "next_offset": None if is_refused else end,
        "stopped_by": "refused" if is_refused else "high_watermark" if left else "log_end",
        "detail": "the batch at offset 0 has another checksum" if is_refused else None,
        "not_ingested": [{"reason": reason, "from_offset": end, "log_end_offset": end + left}]
        if left
        else None,
        "first_log_end_offset": end,
        "waiting_since": BEGAN if left else None,
        "run_id": f"hourly-{_RUNS - 1:02}",
        "observed_at": BEGAN + timedelta(hours=_RUNS),
    }
