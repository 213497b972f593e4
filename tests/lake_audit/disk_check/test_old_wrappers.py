"""Compressed sets of the old formats on a disk, against the lake that has them or not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code
from support.audits import audited, checked, only_copy
from support.encoder import EncodedBatch, Partition, Segment
from support.inner_messages import sound_set, with_bad_crc, wrapped
from support.lakes import ingested
from support.made_logs import write_over


def _disk(folder: Path, log: Sequence[EncodedBatch], high_watermark: int) -> Path:
    partition = Partition("orders", 0, [Segment(0, list(log))], high_watermark=high_watermark)
    return write_over(folder, [partition])


@pytest.mark.parametrize("magic", [0, 1])
def test_every_offset_of_a_set_that_is_not_ingested_counts(magic: int, tmp_path: Path) -> None:
    log = [wrapped(stop - 1, sound_set(stop - 5, stop, magic), magic) for stop in (5, 10, 15)]
    ingested(_disk(tmp_path / "data", log[:1], 5), tmp_path / "lake")
    check = only_copy(checked(_disk(tmp_path / "data", log, 15), tmp_path / "lake"))
    assert check.report.not_ingested == [(5, 15)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_with_a_damaged_message_equals_its_rows(magic: int, tmp_path: Path) -> None:
    damaged = sound_set(0, 5, magic)
    damaged[2] = with_bad_crc(damaged[2])
    log = [wrapped(4, damaged, magic), wrapped(9, sound_set(5, 10, magic), magic)]
    ingested(_disk(tmp_path / "data", log, 10), tmp_path / "lake")
    check = only_copy(checked(tmp_path / "data", tmp_path / "lake"))
    assert (check.report.equal, check.only_in_lake, check.report.damaged_spans) == (9, 0, 1)
    assert exit_code([check]) == 0
    assert audited(tmp_path / "lake").problems == ()


def test_a_set_whose_header_has_a_false_offset_equals_its_rows(tmp_path: Path) -> None:
    log = [wrapped(4, sound_set(0, 5, 0), 0), wrapped(7, sound_set(5, 10, 0), 0)]
    ingested(_disk(tmp_path / "data", log, 10), tmp_path / "lake")
    check = only_copy(checked(tmp_path / "data", tmp_path / "lake"))
    assert (check.report.equal, check.only_in_lake, exit_code([check])) == (10, 0, 0)
