"""The page as text: hostile names stay text, nothing of records is in it, it loads nothing."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_report.model import ThisRun
from seglake.pipelines.lake_report.page import to_html
from support.internal_logs import INTERNAL, OFFSETS, commits, write_topic
from support.lakes import ingested
from support.made_logs import make_log_dir, value_of
from support.reports import reported
from support.wide_lake import write_wide_lake

_MOST_BYTES = 5 * 1000 * 1000  # of ten thousand partitions
_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
HOSTILE = "</script><script>alert(1)</script>&<img src=x onerror=alert(2)>"


def test_page_grows_by_few_bytes_with_each_partition(tmp_path: Path) -> None:
    """The page of ten thousand is weighed in a browser too."""
    sizes = []
    for count in (500, 1500):
        lake = tmp_path / str(count)
        write_wide_lake(lake, count)
        sizes.append(len(to_html(reported(lake))))
    small, large = sizes
    assert small + 9.5 * (large - small) < _MOST_BYTES


def test_payload_is_not_in_the_page(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    make_log_dir(disk, {("orders", 0): [0, 20]})
    ingested(disk, tmp_path / "lake")
    write_wide_lake(tmp_path / "wide", 300)
    assert value_of("orders", 0, 3) not in to_html(reported(tmp_path / "lake"))
    assert b"SECRET-PAYLOAD" not in to_html(reported(tmp_path / "wide"))


def test_header_says_what_only_an_audit_proves(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1)
    header = to_html(reported(tmp_path)).decode().partition("<header")[2].partition("</header>")[0]
    said = "Not compared here: records, typed tables, latest state and erasures with the ledger."
    assert f"{said} <code>seglake audit</code> proves them." in header


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1, topic=HOSTILE)
    said = ThisRun(
        command="ingest",
        run_id=HOSTILE,
        exit_code=3,
        lines=(f"refused: {HOSTILE}",),
        findings=(Finding(FindingKind.REFUSED, HOSTILE, f"{HOSTILE}-0"),),
    )
    text = to_html(reported(tmp_path, this_run=said)).decode()
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "refused: &lt;/script&gt;" in text
    (data,) = _DATA.findall(text)
    assert json.loads(data)["topics"] == [HOSTILE]
    assert "<" not in data


def test_page_names_no_other_place_than_itself(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 20)
    text = to_html(reported(tmp_path)).decode()
    assert re.findall(r"(?:src|href|action)=", text.split("<script>")[0]) == []
    policy = unescape(re.findall(r'Content-Security-Policy" content="([^"]+)"', text)[0])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_place_that_is_no_unicode_is_shown_all_the_same(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1)
    assert b"/lake-?" in to_html(replace(reported(tmp_path), lake="/lake-\udcff"))


def test_this_run_is_said_with_its_exit_code_and_what_to_do(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1)
    said = ThisRun(
        command="audit", run_id=None, exit_code=3, lines=("refused: 1 x", "other"), findings=()
    )
    made_at = datetime(2026, 11, 1, tzinfo=UTC)
    text = to_html(reported(tmp_path, this_run=said, now=made_at)).decode()
    this_run = text.partition('<section id="this-run">')[2].partition("</section>")[0]
    assert "exit code <b>3</b>" in this_run
    assert "a person should look" in this_run
    assert this_run.count("What to do: ") == 1
    assert "2026-11-01 00:00:00 UTC" in text


def test_command_for_groups_is_on_the_page_of_a_lake_without_them(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    make_log_dir(disk, {("orders", 0): [0, 20]})
    ingested(disk, lake, read={"upper_bound": "log_end"})
    command = (
        f"seglake ingest --source LOG_DIR --lake {lake} --topics __cluster_metadata"
        " __consumer_offsets --internal-topics --engine local --upper-bound log_end"
    )
    assert f"<pre>{command}</pre>" in to_html(reported(lake)).decode()
    write_topic(disk, OFFSETS, [commits(0, 1)])
    ingested(disk, lake, select=INTERNAL)
    assert "group_lag" not in to_html(reported(lake)).decode()
