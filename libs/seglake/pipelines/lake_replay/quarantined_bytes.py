"""Makes replicas of quarantined bytes: a newer version or another setting may decode them.

The bytes are written to files in the lake's own folder, which every task can reach.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.repair.resolutions import (
    identity_of,
    is_inside_batch,
    is_sound_outside,
    region_of,
)
from seglake.kafka_log.leader_epochs import UNKNOWN_EPOCHS
from seglake.kafka_log.replica import NO_CHECKPOINTS, PartitionKey, Replica, SegmentFile
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import read_rows
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.quarantine_rows import IDENTITY

Row = Mapping[str, Any]  # Any: the columns of a row have many types


@contextmanager
def quarantined_sources(
    tables: LakeTables, source_id: str, state: RepairState
) -> Iterator[list[RepairSource]]:
    """Yield a replica for each quarantined batch that may decode now.

    The replica's file is deleted afterwards.

    Args:
        tables: the lake's tables.
        source_id: the cluster.
        state: the damage and gaps of the cluster.
    """
    requested = {
        identity_of(row): (key, row)
        for key, rows in state.damage.items()
        for row in rows
        if is_sound_outside(row) and row["raw_is_complete"] and not is_inside_batch(row)
    }
    storage = tables.storage
    folder = storage.join(tables.replay_folder, uuid.uuid4().hex)
    copies: list[RepairSource] = []
    try:
        for identity, raw in _quarantined_bytes(tables, source_id) if requested else ():
            if identity not in requested:
                continue
            key, row = requested.pop(identity)
            path = storage.join(folder, f"{len(requested):06d}.log")
            with storage.open_output(path) as output:
                output.write(raw)
            copies += _copy(key, row, path, len(raw), state)
        yield copies
    finally:
        storage.delete_folder(folder)


def _quarantined_bytes(
    tables: LakeTables, source_id: str
) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    """Yield the stored bytes of each quarantined row, with the row's identifying columns."""
    for path in tables.file_paths(QUARANTINE):
        for rows in read_rows(tables.storage, path, ["source_id", "raw", *IDENTITY]):
            for row in rows.to_pylist():
                if row["source_id"] == source_id and row["raw"] is not None:
                    yield identity_of(row), row["raw"]


def _copy(
    key: PartitionKey, row: Row, path: str, size_bytes: int, state: RepairState
) -> list[RepairSource]:
    """Return the bytes as a log of one segment, in a list; an empty list if they can fill no gap.

    Only gaps explained by damage are used, because these bytes prove nothing about other gaps.
    """
    before, after = row["previous_offset"], row["next_offset"]
    fillable = tuple(
        gap
        for gap in state.gaps[key]
        if not gap.lacks_evidence
        and (after is None or gap.start_offset < after)
        and (before is None or gap.next_offset > before + 1)
    )
    if not fillable:
        return []
    claimed = fillable[0].start_offset if row["base_offset"] is None else row["base_offset"]
    base_offset = min(fillable[0].start_offset, claimed)  # the gap may begin inside the batch
    file = SegmentFile(
        base_offset=base_offset,
        path=path,
        name=row["segment"],
        size_bytes=size_bytes,
        index_path=None,
        origin_position=row["position"],
    )
    replica = Replica(
        key=key,
        broker_id=row["broker_id"],
        folder=path.rsplit("/", 1)[0],
        is_future=False,
        checkpoints=NO_CHECKPOINTS,
        epochs=(),
        segments=(file,),
    )
    parts = tuple(gap.offsets for gap in fillable)
    return [
        RepairSource(
            replica=replica,
            files=(file,),
            gaps=fillable,
            requested=parts,
            stop_offset=state.ledger.of(key).counts_until(region_of(row)[0], row["generation"]),
            leader_epochs=UNKNOWN_EPOCHS,
            is_of_lake=True,
        )
    ]
