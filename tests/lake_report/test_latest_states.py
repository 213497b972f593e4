"""The report lists tables of latest state, and what each lacks."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from seglake.pipelines.lake_report.page import to_html
from support.keyed_logs import Values, write
from support.lakes import ingested
from support.latest_state import updated
from support.reports import reported


def test_tables_are_listed_with_the_commits_that_they_lack(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    log: list[Values] = [("a", b"1")]
    for topic in ("orders", "payments"):
        ingested(write(tmp_path / topic, *log, topic=topic, topic_id=topic), lake)
    report = reported(lake)
    assert report.latest == ()
    assert b"<h2>Latest state</h2>" not in to_html(report)
    updated(lake, "*")
    for number in range(2):
        log.append(("a", b"%d" % number))
        disk = write(tmp_path / "payments", *log, topic="payments", topic_id="payments")
        ingested(disk, lake)
    report = reported(lake)
    assert [(each.table, each.topic, each.lacks) for each in report.latest] == [
        ("latest/payments", "payments", 2),
        ("latest/orders", "orders", 0),
    ]
    for each in report.latest:
        assert each.changed_at is not None
        assert timedelta(0) < datetime.now(UTC) - each.changed_at < timedelta(minutes=30)
    page = to_html(report).decode()
    assert "<h2>Latest state</h2>" in page
    assert '<td><code>latest/payments</code></td><td>payments</td><td class="n">2</td>' in page
    shutil.copytree(lake / "gaps", lake / "latest" / "gaps")
    report = reported(lake)
    [problem] = report.latest
    assert (problem.table, problem.lacks) == ("latest/gaps", None)
    page = to_html(report).decode()
    assert "latest/gaps is not a table of latest state" in page
    assert '<td class="n">unknown</td>' in page
