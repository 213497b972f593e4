"""Task that decodes quarantined bytes to rows of `salvaged_records`. Runs on executors.

Memory: one row group of a data file of `quarantine`.
"""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from seglake.lake.parquet_files import ParquetFile, row_groups
from seglake.lake.parquet_rows import read_rows
from seglake.lake.tables import SALVAGED_RECORDS
from seglake.log_tables.damaged_batch import DamagedBatch
from seglake.log_tables.salvaged_rows import salvaged_rows
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.walk.salvage import holds_no_record
from seglake.segment_decoding.salvage_values import (
    PLACE_COLUMNS,
    SalvageReport,
    SalvageTask,
)

_ROW_GROUP_BYTES = 8 << 20


def salvage(task: SalvageTask) -> SalvageReport:
    """Decode the batches of a task; write the rows of batches that can be decoded to their end.

    Raises:
        StorageError: the lake cannot be read.
        OutputError: the lake cannot be written.
    """
    records: Counter[str] = Counter()
    batches: Counter[str] = Counter()
    refused: Counter[str] = Counter()

    def salvaged() -> Iterator[pa.Table]:
        for batch, raw in _requested_bytes(task):
            try:
                found = salvaged_rows(
                    batch,
                    raw,
                    source_id=task.source_id,
                    run_id=task.run_id,
                    salvaged_at_us=task.salvaged_at_us,
                    max_bytes=task.max_bytes,
                )
            except DefectError as error:
                if not (batch.is_of_loser and holds_no_record(raw)):
                    refused[error.code] += 1
                continue
            rules = task.rules.get(batch.key.topic)
            rows = pa.Table.from_batches([found])
            if rules is not None:
                rows = rows.filter(pa.array(~rules.match(rows)))
            if rows.num_rows:
                records[str(batch.key)] += rows.num_rows
                batches[str(batch.key)] += 1
                yield rows

    with ParquetFile(
        task.storage, task.lake_path, SALVAGED_RECORDS, "", task.compression_level
    ) as output:
        for rows in row_groups(salvaged(), _ROW_GROUP_BYTES):
            output.write(rows)
        file = output.close()
    return SalvageReport(() if file is None else (file,), records, batches, refused)


def _requested_bytes(task: SalvageTask) -> Iterator[tuple[DamagedBatch, bytes]]:
    """Yield each batch of the task once with its bytes, from the data file."""
    requested = dict(task.batches)
    for rows in read_rows(task.storage, task.path, [*PLACE_COLUMNS, "raw"]):
        raws = rows.column("raw")
        for index, row in enumerate(rows.select(PLACE_COLUMNS).to_pylist()):
            place = tuple(row[name] for name in PLACE_COLUMNS)
            raw = raws[index].as_py() if place in requested else None
            if raw is not None:
                yield requested.pop(place), raw
