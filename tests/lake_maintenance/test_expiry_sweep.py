"""A sweep takes what expired from all tables, and nothing of other logs."""

from pathlib import Path

from support.audits import audited, kinds
from support.keyed_logs import write
from support.lakes import Row, ingested, maintained, read_table


def test_topics_without_ids_keep_gaps_and_damaged_bytes_when_another_expires(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    for topic in ("clicks", "orders"):
        disk = write(
            tmp_path / topic, *[("a", b"a value")] * 3, ("b", None), topic=topic, topic_id=None
        )
        if topic == "orders":
            log = disk / "orders-0" / f"{0:020d}.log"
            log.write_bytes(log.read_bytes().replace(b"a value", b"damaged", 1))
        ingested(disk, lake)
    before = _of_orders(lake, "quarantine"), _of_orders(lake, "gaps")
    assert [[row["topic_id"] for row in rows] for rows in before] == [[None], [None]]
    summary = maintained(lake, retention={"records": {"clicks": "400d"}})
    assert {each.topic for each in summary.expired} == {"clicks"}
    assert (_of_orders(lake, "quarantine"), _of_orders(lake, "gaps")) == before
    assert kinds(audited(lake)) == set()


def _of_orders(lake: Path, table: str) -> list[Row]:
    return [row for row in read_table(lake, table) if row["topic"] == "orders"]
