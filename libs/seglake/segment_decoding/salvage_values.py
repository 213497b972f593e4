"""Input and report of a task that salvages damaged batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seglake.lake.parquet_files import DataFile
from seglake.log_tables.damaged_batch import DamagedBatch
from seglake.log_tables.erasure_rules import TopicRules
from seglake.log_tables.quarantine_rows import IDENTITY
from seglake.storage.storage import Storage

PLACE_COLUMNS = ("source_id", "topic", "partition", *IDENTITY)
"""Columns that identify damaged bytes; with the column `generation`, the key of `quarantine`."""

BatchPlace = tuple[Any, ...]  # Any: the columns have many types


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageTask:
    """Damaged batches of one data file of `quarantine`.

    Attributes:
        rules: erasure rules of the topics that have any.
    """

    storage: Storage
    lake_path: str
    path: str
    batches: Mapping[BatchPlace, DamagedBatch]
    size_bytes: int
    source_id: str
    run_id: str
    salvaged_at_us: int
    max_bytes: int
    compression_level: int
    rules: Mapping[str, TopicRules] = field(default_factory=dict)


class SalvageReport(NamedTuple):
    """Files and counts of a task.

    Attributes:
        records: number of salvaged records by partition.
        batches: number of salvaged batches by partition.
        refused: number of batches that cannot be decoded, by reason.
    """

    files: tuple[DataFile, ...]
    records: Mapping[str, int]
    batches: Mapping[str, int]
    refused: Mapping[str, int]
