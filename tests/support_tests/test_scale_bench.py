"""Tests the page of `make bench-scale`, and the disks that it makes."""

from pathlib import Path
from xml.etree import ElementTree

from bench.bench_scale import COMMAND
from bench.machine import PAGE, updated
from bench.scale.made_disk import made_disk
from bench.scale.scale_page import Cost, Size, Spread, chart, page
from support.audits import audited
from support.lakes import ingested


def _size(segments: int, wall_s: float = 20.0) -> Size:
    return Size(
        segments=segments,
        partitions=segments // 10,
        topics=segments // 50,
        first=Cost(wall_s=wall_s, cpu_s=30.0, peak_bytes=200 << 20),
        nothing=Cost(wall_s=2.0, cpu_s=1.5, peak_bytes=60 << 20),
        file_count=80,
        s3_requests=4321,
        hdfs_calls=None,
    )


def test_page_has_a_row_for_each_size_and_source() -> None:
    cost = Cost(wall_s=10.0, cpu_s=19.0, peak_bytes=1)
    spread = Spread(what="a large segment", cost=cost, task_count=15, cores=2)
    text = page([_size(1000)], [spread], ["Measured today"], "scale.svg")
    row = "| 1,000 | 100 | 20 | 20.0 / 2.0 | 30.0 / 1.5 | 200 / 60 | 80 | 4,321 |  |"
    assert row in text.splitlines()
    assert "| a large segment | 10.0 | 19.0 | 15 | 95% |" in text.splitlines()
    assert "- Measured today" in text
    assert "(scale.svg)" in text


def test_slower_run_stands_higher() -> None:
    svg = ElementTree.fromstring(chart([_size(1000), _size(10_000, wall_s=200.0)]))
    first, *_ = (line.get("points", "").split() for line in svg.findall("{*}polyline"))
    (_, quick), (_, slow) = (map(float, point.split(",")) for point in first)
    assert slow < quick


def test_its_part_of_the_document_is_there() -> None:
    document = PAGE.read_text("utf-8")
    assert updated(document, "new figures", COMMAND).count("new figures") == 1
    assert f"<!-- {COMMAND} writes this -->" in document


def test_made_disk_is_sound_and_has_as_many_segments_as_asked(tmp_path: Path) -> None:
    disk = made_disk(tmp_path / "disk", 70)
    assert sum(1 for _ in disk.rglob("*.log")) == 70
    summary = ingested(disk, tmp_path / "lake")
    assert (summary.exit_code, summary.records) == (0, 70 * 20)
    assert audited(tmp_path / "lake").exit_code == 0
