"""Makes reports of lakes in this process."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from seglake.pipelines.lake_report.ledger import Ledger, LogName
from seglake.pipelines.lake_report.model import LakeReport, PartitionReport, ThisRun
from seglake.pipelines.lake_report.page import to_html
from seglake.pipelines.lake_report.run import report
from seglake.storage.local_storage import LocalStorage
from support.lakes import Row

LOG = ("c1", "orders", 0)


def reported(
    lake: Path,
    *,
    this_run: ThisRun | None = None,
    stuck_after: timedelta | None = None,
    now: datetime | None = None,
) -> LakeReport:
    """Return the report of a lake."""
    with TemporaryDirectory() as spill_folder:
        return report(
            str(lake),
            LocalStorage(),
            spill_folder=spill_folder,
            this_run=this_run,
            stuck_after=stuck_after,
            now=now or datetime.now(UTC),
        )


def page_of(lake: Path, file: Path) -> Path:
    """The page of a lake, in a file."""
    file.write_bytes(to_html(reported(lake)))
    return file


def by_name(found: LakeReport) -> dict[str, PartitionReport]:
    """The partitions of a report whose names come once."""
    return {str(each.key): each for each in found.partitions}


def ledger_row(start: int, stop: int, generation: int = 1, **other: object) -> Row:
    """A row of `checkpoints`, of partition 0 of orders."""
    source_id, topic, partition = LOG
    return {
        "source_id": source_id,
        "topic_id": "id1",
        "topic": topic,
        "partition": partition,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": stop,
        "generation": generation,
        "records": stop - start,
        "quarantined_batches": 0,
        "isolation": "read_committed",
        "leader_epoch": 1,
        "last_batch_base_offset": None,
        "run_id": f"run{generation}",
        "attempt_id": f"attempt{generation}",
        "committed_at": datetime(2026, 11, 1, generation, tzinfo=UTC),
        **other,
    }


def ledger_of(*rows: Row) -> tuple[Ledger, LogName]:
    """A ledger of one partition, and its name."""
    ledger = Ledger(rows)
    (log,) = ledger.rows
    return ledger, log
