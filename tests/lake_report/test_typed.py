"""A report says how much of each topic is decoded, why not, and what to do."""

from pathlib import Path

from seglake.lake.delta_tables import LakeTables
from seglake.lake.typed_tables import typed_tables
from seglake.pipelines.lake_report.model import Level
from seglake.pipelines.lake_report.page import to_html
from seglake.pipelines.lake_report.typed import Rejects
from seglake.storage.local_storage import LocalStorage
from support.reports import reported
from support.typed_disk import glue_schemas, oracle_records, typed_lake
from support.typed_lakes import ID_1, add_values, decoded, elected_lake, int_of, made


def _page(lake: Path) -> str:
    return to_html(reported(lake)).decode()


def test_lake_with_schemas_that_is_not_decoded_names_the_dry_run(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    report = reported(lake)
    assert report.typed.topics == ()
    assert report.level is Level.FINE
    assert f"<pre>seglake deserialize --lake {lake} --dry-run</pre>" in _page(lake)


def test_lake_without_schemas_has_no_section(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    add_values(lake, tmp_path / "disk", b"text")
    assert "<h2>Typed tables</h2>" not in _page(lake)


def test_rows_rejects_and_waiting_records_are_counted(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1), b"\x00\x00\x00\x00\x09\x02", None, ID_1)
    decoded(lake, "t")
    report = reported(lake)
    (topic,) = report.typed.topics
    assert (topic.records, topic.typed_rows, topic.waiting, topic.share) == (4, 2, 0, "50.0 %")
    assert topic.tables == ("typed/t",)
    assert set(topic.rejects) == {
        Rejects("value", "unknown_schema_id", 1),
        Rejects("value", "short", 1),
    }
    assert report.level is Level.LOOK
    assert report.headline.endswith("; rejected keys and values: 2")
    page = _page(lake)
    assert "2 typed rows of 1 topic; rejected keys and values: 2" in page
    assert "give the schema with <code>--schemas</code>" in page
    assert "<pre>seglake deserialize" not in page
    add_values(lake, tmp_path / "more", int_of(3), int_of(4), start=4)
    (topic,) = reported(lake).typed.topics
    assert (topic.records, topic.waiting) == (4, 2)
    page = _page(lake)
    assert "; 2 records not decoded yet" in page
    assert f"<pre>seglake deserialize --lake {lake}</pre>" in page


def test_rejects_that_lost_an_election_are_not_counted(tmp_path: Path) -> None:
    lake, winner = elected_lake(tmp_path)
    before = reported(lake).typed
    assert winner.exists()
    assert before.reject_count == 0


def test_counts_of_real_topics_are_the_oracle_s(tmp_path: Path) -> None:
    names = ("avro_bad", "avro_orders")
    lake = typed_lake(tmp_path / "lake", "_schemas", *names)
    decoded(lake, *names, schemas=str(glue_schemas()))
    report = reported(lake).typed
    listed = {each.topic: each for each in report.topics}
    assert {*listed} == {*names}
    for name, found in listed.items():
        records = [*oracle_records(name)]
        rejected = [record for record in records if "reject" in record["value"]]
        assert (found.records, found.typed_rows) == (len(records), len(records) - len(rejected))
        assert sum(each.number for each in found.rejects if each.part == "value") == len(rejected)
    tables = typed_tables(LakeTables(str(lake), LocalStorage()))
    assert {name for each in report.topics for name in each.tables} == {
        each.table.name for each in tables
    }
    assert all(found.to_do for each in report.topics for found in each.rejects)
