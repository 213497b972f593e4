"""A report says what was erased, when and why, and names no key."""

from pathlib import Path

from seglake.pipelines.lake_report.page import to_html
from support.erasures import erased
from support.lakes import ingested
from support.people import people_disk
from support.reports import reported


def test_erasures_are_listed_with_their_reasons(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 20), lake)
    report = reported(lake)
    assert report.erasures == ()
    assert b"<h2>Erasures</h2>" not in to_html(report)
    erased(lake, key="ann's key", topics=["orders", "payments"])
    erased(lake, where='"offset" BETWEEN 4 AND 5')
    report = reported(lake)
    shown = [(each.topics, each.kind, each.rules, each.reason) for each in report.erasures]
    assert shown == [
        (("orders",), "record", 2, "ticket 7"),
        (("orders", "payments"), "key", 2, "ticket 7"),
    ]
    page = to_html(report)
    assert b"<h2>Erasures</h2>" in page
    assert b"ticket 7" in page
    assert b"ann's" not in page.replace(b"&#39;", b"'")


def test_advised_upper_bound_is_that_of_an_ingest_and_no_erasure_s(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 20), lake)
    erased(lake, key="ann's key")
    assert reported(lake).upper_bound == "high_watermark"
