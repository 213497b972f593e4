"""Tests the page of `make bench-life`, and the lakes that it makes."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.bench_life import COMMAND
from bench.life.life_page import Kind, Mark, chart, page
from bench.life.made_runs import OFFSETS_A_RUN, MadeRuns
from bench.machine import PAGE, updated
from support.audits import audited
from support.encoder import Partition
from support.lake_accounts import rows_of
from support.lakes import ingested
from support.made_logs import made_segments, write_over

_TOPICS = ("clicks", "orders")


def _mark(run_count: int, *, is_maintained: bool = True, cpu_s: float = 1.0) -> Mark:
    return Mark(
        is_maintained=is_maintained,
        run_count=run_count,
        wall_s={Kind.NEW: 2.5, Kind.NOTHING: 0.5},
        cpu_s={Kind.NEW: cpu_s, Kind.NOTHING: 0.25},
        peak_bytes={Kind.NEW: 200 << 20, Kind.NOTHING: 60 << 20},
        requests={Kind.NEW: 1200, Kind.NOTHING: 90},
        data_files=3000,
        maintain_s=12.0 if is_maintained else 0.0,
    )


def test_page_has_a_row_for_each_mark() -> None:
    text = page([_mark(10), _mark(1000, is_maintained=False)], ["Measured today"], "life.svg")
    rows = [line for line in text.splitlines() if line.startswith("| 1")]
    assert rows == [
        "| 10 | weekly | 2.50 / 0.50 | 1.00 / 0.25 | 200 / 60 | 1,200 / 90 | 3,000 | 12 |",
        "| 1,000 | never | 2.50 / 0.50 | 1.00 / 0.25 | 200 / 60 | 1,200 / 90 | 3,000 |  |",
    ]
    assert "- Measured today" in text
    assert "(life.svg)" in text


def test_dearer_run_stands_higher() -> None:
    marks = [_mark(10), _mark(1000, cpu_s=4.0), _mark(10, is_maintained=False)]
    svg = ElementTree.fromstring(chart(marks))
    lines = [line.get("points", "").split() for line in svg.findall("{*}polyline")]
    assert [len(points) for points in lines] == [2, 1, 2, 1]
    (_, cheap), (_, dear) = (map(float, point.split(",")) for point in lines[0])
    assert dear < cheap


def test_its_part_of_the_document_is_there() -> None:
    document = PAGE.read_text("utf-8")
    once = updated(document, "new figures", COMMAND)
    assert once.count("new figures") == 1
    ends = document.count("<!-- up to here -->")
    assert once.count("<!-- up to here -->") == ends == document.count(" writes this -->")


@pytest.mark.parametrize("maintains", [False, True])
def test_made_up_runs_leave_what_real_ones_do(maintains: bool, tmp_path: Path) -> None:
    template, lake = tmp_path / "template", tmp_path / "lake"
    ingested(_disk(tmp_path, range(1, 2)), template)
    made = MadeRuns(lake, template, _TOPICS, 5)
    for count in (1, 1, 2):
        made.add(count)
    if maintains:
        made.maintain()
    assert audited(lake).exit_code == 0
    disk = _disk(tmp_path, range(5, 6))
    assert ingested(disk, lake).records == OFFSETS_A_RUN * len(_TOPICS)
    whole = tmp_path / "whole"
    ingested(_disk(tmp_path, range(1, 6)), whole)
    offsets = [row.count("offset") for row in rows_of(lake)["records"]]
    assert len(offsets) == len(rows_of(whole)["records"])
    assert audited(lake).exit_code == 0


def _disk(folder: Path, runs: range) -> Path:
    edges = [(runs.start - 1) * OFFSETS_A_RUN, (runs.stop - 1) * OFFSETS_A_RUN]
    return write_over(
        folder / "disk", [Partition(t, 0, made_segments(t, 0, edges)) for t in _TOPICS]
    )
