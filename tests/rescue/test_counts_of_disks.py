"""Each record of each disk is in exactly one count of the comparison with the lake.

How many records a disk has is what Kafka's own tool dumped of it.
"""

from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck
from support import broker_disks
from support.audits import checked
from support.broker_disks import SCENARIOS
from support.cases import cases
from support.dumps import Dump
from support.lakes import ingested
from support.oracle import dumped_folders

_READS = {
    "everything": {"upper_bound": "log_end", "undecided_transactions": "rows"},
    "as of live brokers": {},
}
_DISKS = [(name, copy) for name in SCENARIOS for copy in broker_disks.copies(name)]
# Where the end of a log and the high watermark, or transactions, make the two reads differ.
_MORE_THAN_COMMITTED = {"06_transactions", "08_replicas", "10_crash"}


def _counted(check: CopyCheck, offsets: list[int]) -> int:
    report = check.report
    not_ingested = [
        offset
        for offset in offsets
        if any(start <= offset < stop for start, stop in check.not_ingested)
    ]
    return (
        report.equal
        + report.different.records
        + report.explained_differences.total()
        + report.only_on_disk.records
        + report.left_out.total()
        + len(not_ingested)
    )


def _offsets(dump: Dump, log_start: int) -> list[int]:
    """The offset of each record; those in control batches are markers."""
    markers = {
        (batch.file_name, offset)
        for batch in dump.batches
        if batch.is_control and batch.base_offset is not None
        for offset in range(batch.base_offset, batch.last_offset + 1)
    }
    return [
        record.offset
        for record in dump.records
        if record.file_name.endswith(".log")
        and (record.file_name, record.offset) not in markers
        and record.offset >= log_start
    ]


def _log_starts(scenario: str, copy: str) -> dict[str, int]:
    partitions = broker_disks.partitions(scenario, copy)
    return {f"{each.topic}-{each.partition}": each.log_start_offset for each in partitions}


@pytest.mark.parametrize(
    ("scenario", "copy", "read"),
    cases(
        [(*disk, read) for disk in _DISKS for read in _READS],
        telling=lambda case: case[2] == "everything" or case[0] in _MORE_THAN_COMMITTED,
    ),
)
def test_each_record_of_each_disk_is_in_one_count(
    scenario: str, copy: str, read: str, lake: Path
) -> None:
    disks = broker_disks.unpacked(scenario) / "disks" / copy
    ingested(
        disks,
        lake,
        isolation="read_committed",
        select={"internal_topics": True},
        read=_READS[read],
    )
    dumps = {str(folder): dump for folder, dump in dumped_folders(scenario, copy)}
    starts = _log_starts(scenario, copy)
    checks = [check for check in checked(disks, lake) if check.folder in dumps]
    assert checks
    counts = {}
    for check in checks:
        offsets = _offsets(dumps[check.folder], starts.get(check.partition, 0))
        counts[check.folder] = (_counted(check, offsets), len(offsets))
    assert {folder: each for folder, each in counts.items() if each[0] != each[1]} == {}
