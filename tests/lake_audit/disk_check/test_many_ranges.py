"""A log of which the lake has many separate ranges: what a check does grows as they do."""

import cProfile
from pathlib import Path

from seglake.kafka_log.replica import PartitionKey, SegmentFile
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.disk_check.disk_check_task import (
    DiskPiece,
    PieceReport,
    check_pieces,
)
from seglake.pipelines.lake_audit.disk_check.lake_rows import LakeRows
from seglake.pipelines.lake_audit.disk_check.ledger_rows import LedgerFacts
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.encoder import DEFAULT_CLUSTER_ID, Header, Record, record_batch
from support.walks import laid_out

_COUNT = 300
_MOST_TIMES = 2.3  # calls for twice as many ranges; 4 where each batch looks at all of them


def test_each_batch_between_two_ranges_is_not_ingested_and_work_grows_as_they_do(
    tmp_path: Path,
) -> None:
    _checked(tmp_path, 4)  # what is compiled or imported once
    calls: list[int] = []
    for count in (_COUNT, 2 * _COUNT, 4 * _COUNT):
        report, called = _checked(tmp_path, count)
        assert report.not_ingested == [(2 * n + 1, 2 * n + 2) for n in range(count)]
        assert (report.only_on_disk.records, report.failures) == (count, [])
        calls.append(called)
    few, twice, four_times = calls
    assert four_times - twice < _MOST_TIMES * (twice - few)


def _checked(folder: Path, count: int) -> tuple[PieceReport, int]:
    """Check twice as many batches, of which every other one is covered; with the calls made."""
    path = folder / f"{0:020}.log"
    header = Header(leader_epoch=0)
    batches = [record_batch(n, [Record(None, b"x")], header) for n in range(2 * count)]
    path.write_bytes(laid_out(*batches))
    storage, settings = LocalStorage(), Settings()
    ledger = LedgerFacts.of(LakePartition(DEFAULT_CLUSTER_ID, PartitionKey("orders", 0, None)), ())
    no_files: dict[str, tuple[StoredFile, ...]] = {
        table.name: () for table in (RECORDS, BATCHES, GAPS, QUARANTINE)
    }
    piece = DiskPiece(
        source=storage,
        lake=LakeRows(storage, ledger, True, no_files),
        broker_id=0,
        files=(SegmentFile(0, str(path), path.name, path.stat().st_size, None),),
        stop_offset=None,
        durable_offset=0,
        cleaner_offset=0,
        log_start_offset=0,
        known_start_offset=0,
        covered=tuple((2 * n, 2 * n + 1) for n in range(count)),
        read=settings.read,
        max_decompressed_batch_bytes=settings.limits.max_decompressed_batch_bytes,
    )
    profile = cProfile.Profile()
    (report,) = profile.runcall(check_pieces, (piece,))
    return report, sum(entry.callcount for entry in profile.getstats())
