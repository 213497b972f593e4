"""A page that a run writes and one that is made later say the same."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.cli import ingest_command, report_command
from support import broker_disks
from support.encoder import Partition, Segment
from support.made_logs import made_batches, write_over

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_HEAD = re.compile(r"<h1>.*?</header>", re.DOTALL)


def _facts(page: Path) -> tuple[str, object]:
    text = page.read_text("utf-8")
    found, head = _DATA.search(text), _HEAD.search(text)
    assert found is not None
    assert head is not None
    return head.group(), json.loads(found.group(1))


def _left_out(folder: Path) -> Path:
    """A log without a high watermark, an archive, a link to nowhere, and a short log."""
    marks = (("a", None), ("b", 16), ("c", 9))
    partitions = [
        Partition(topic, 0, [Segment(0, made_batches(topic, 0, range(12)))], high_watermark=mark)
        for topic, mark in marks
    ]
    disk = write_over(folder, partitions)
    (disk / "x-0.tar.gz").write_bytes(b"")
    (disk / "y-0").symlink_to(disk / "nowhere", target_is_directory=True)
    return disk


def _elected(folder: Path) -> Path:
    shutil.copytree(broker_disks.unpacked("08_replicas") / "disks" / "diverged", folder)
    return folder


def _tiered(folder: Path) -> Path:
    shutil.copytree(broker_disks.unpacked("12_tiered") / "disks" / "stopped", folder)
    return folder


@pytest.mark.parametrize("make", [_left_out, _elected, _tiered])
def test_the_page_of_a_run_and_a_later_one_have_the_same_facts(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    disk, now, later = make(tmp_path / "disk"), tmp_path / "now.html", tmp_path / "later.html"
    options = ["--source", str(disk), "--lake", str(tmp_path / "lake"), "--engine", "local", "-q"]
    ingest_command.main([*options, "--set", "limits.local_processes=1", "--report", str(now)])
    report_command.main(["--lake", str(tmp_path / "lake"), "--output", str(later), "-q"])
    assert _facts(now) == _facts(later)
    assert "nothing to look at" not in _facts(later)[0].lower()
