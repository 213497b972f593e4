"""Removes records from a lake as a command does, by the product's parts."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from seglake.lake.commit_protocol import Attempt
from seglake.lake.compaction import view_of
from seglake.lake.delta_commit import commit_wave, versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.removed_rows import RowChoice, rewrite, rewrite_tasks
from seglake.lake.tables import CHECKPOINTS, GAPS, RECORDS, Table
from seglake.lake.waves import TopicWave
from seglake.log_tables.ledger_layers import commit_name
from seglake.storage.local_storage import LocalStorage
from support.lakes import read_table


def erased(lake: Path, topic: str, partition: int, offsets: Iterable[int]) -> None:
    """Erase rows of `records`, whether they lost an election or not, in one commit."""
    tables, chosen = LakeTables(str(lake), LocalStorage()), {*offsets}
    found = [
        row
        for row in read_table(lake, "records")
        if (row["topic"], row["partition"]) == (topic, partition) and row["offset"] in chosen
    ]
    source, topic_id = found[0]["source_id"], found[0]["topic_id"]
    generation = versions(tables, source, [topic])[topic].publishing + 1
    attempt = str(uuid.uuid4())
    ledger = [
        row
        for row in read_table(lake, "checkpoints")
        if (row["topic"], row["partition"]) == (topic, partition)
    ]
    lost = [row for row in ledger if row["kind"] == "superseded"]

    def is_lost(row: dict[str, object]) -> bool:
        return any(
            each["start_offset"] <= row["offset"] < each["next_offset"]
            and row["generation"] < each["generation"]
            for each in lost
        )

    gaps = sorted(row["offset"] for row in found if not is_lost(row))
    parts = [
        {
            "kind": "erased",
            "start_offset": row["offset"],
            "next_offset": row["offset"] + 1,
            "records": 1,
            "offset_sum": Decimal(row["offset"]),
            "key_bytes": len(row["key"] or b""),
            "value_bytes": len(row["value"] or b""),
            "upper_bound": commit_name(row["generation"]),
            "committed_at": datetime.now(UTC),
            "generation": generation,
        }
        for row in found
    ]
    spans = [
        {"start_offset": int(each[0]), "next_offset": int(each[-1]) + 1, "cause": "erased"}
        for each in np.split(gaps, np.flatnonzero(np.diff(gaps) > 1) + 1)
        if len(each)
    ]
    common = {
        "source_id": source,
        "topic_id": topic_id,
        "topic": topic,
        "partition": partition,
        "run_id": "eraser",
        "attempt_id": attempt,
    }
    files = [
        _written(tables, table, topic, [common | row for row in rows])
        for table, rows in ((GAPS, spans), (CHECKPOINTS, parts))
        if rows
    ]
    choice = RowChoice(
        source_id=source,
        topic_ids=(topic_id,),
        partition=partition,
        ranges=tuple((offset, offset + 1) for offset in sorted(chosen)),
    )
    tasks = rewrite_tasks(
        view_of(tables, RECORDS),
        [choice],
        topic,
        storage=tables.storage,
        lake_path=tables.lake_path,
        compression_level=1,
    )
    done = [each for each in map(rewrite, tasks) if each.is_changed]
    files += [each.replacement for each in done if each.replacement is not None]
    removed = tuple(each.file.removed for each in done)
    wave = TopicWave(topic, generation, tuple(files), removed)
    by = Attempt(source_id=source, attempt_id=attempt, run_id="eraser", now_ms=0)
    assert commit_wave(tables, by, [wave]).committed == (topic,)


def _written(
    tables: LakeTables, table: Table, topic: str, rows: list[dict[str, object]]
) -> DataFile:
    with ParquetFile(tables.storage, tables.lake_path, table, topic) as file:
        file.write(pa.RecordBatch.from_pylist(rows, schema=table.schema))
        done = file.close()
    assert done is not None
    return done
