"""Functions of tasks that decode: the driver names them, and their code is imported where they run.

So neither a run with nothing new nor a driver whose tasks run in other processes imports the
decoder, which takes a tenth of the time of a run with nothing new.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seglake.segment_decoding.gap_search_values import Searched, SearchRequest
    from seglake.segment_decoding.replica_compare_values import (
        CompareRequest,
        FoundConflicts,
        RecordReport,
        RecordRequest,
    )
    from seglake.segment_decoding.salvage_values import SalvageReport, SalvageTask
    from seglake.segment_decoding.tasks import DecodeTask, TaskReport


def decode(task: "DecodeTask") -> "TaskReport":
    """Decode byte ranges of segments to Parquet files; see `decode.decode`."""
    from seglake.segment_decoding.decode import decode as decoded

    return decoded(task)


def count_requested(task: "DecodeTask") -> int:
    """Count the records that a refill would ingest; see `decode.count_requested`."""
    from seglake.segment_decoding.decode import count_requested as counted

    return counted(task)


def search(request: "SearchRequest") -> "Searched":
    """Search another copy for batches in the gaps of a lake; see `gap_search.search`."""
    from seglake.segment_decoding.gap_search import search as searched

    return searched(request)


def find_conflicts(requests: "tuple[CompareRequest, ...]") -> "list[FoundConflicts]":
    """Find the conflicts of copies; see `replica_compare.find_conflicts`."""
    from seglake.segment_decoding.replica_compare import find_conflicts as found

    return found(requests)


def record_conflicts(requests: "tuple[RecordRequest, ...]") -> "list[RecordReport]":
    """Write rows for conflicting batches; see `replica_compare.record_conflicts`."""
    from seglake.segment_decoding.replica_compare import record_conflicts as recorded

    return recorded(requests)


def salvage(task: "SalvageTask") -> "SalvageReport":
    """Decode quarantined bytes to rows of `salvaged_records`; see `salvage_task.salvage`."""
    from seglake.segment_decoding.salvage_task import salvage as salvaged

    return salvaged(task)
