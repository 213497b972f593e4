"""The views over the ledger, on rows written by hand."""

from collections.abc import Callable
from pathlib import Path

Asked = Callable[[Path, str], list[dict[str, object]]]


def test_last_offset_is_the_end_of_what_is_covered_from_0(ask: Asked, lake_path: Path) -> None:
    rows = ask(
        lake_path,
        "SELECT source_id, topic, partition, next_offset, max_covered_offset FROM last_offsets"
        " ORDER BY source_id, topic DESC, partition",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("c1", "orders", 0, 30, 49),
        ("c1", "orders", 1, None, 8),
        ("c1", "orders", 2, 0, None),
        ("c1", "orders", 3, 100, 99),
        ("c1", "my.orders-EU", 0, 2, 1),
        ("c2", "orders", 0, 7, 6),
    ]


def test_range_from_before_the_id_was_known_joins_the_id(ask: Asked, lake_path: Path) -> None:
    text = "SELECT topic_id FROM last_offsets WHERE topic = 'orders' AND source_id = 'c1'"
    assert {row["topic_id"] for row in ask(lake_path, text)} == {"id1"}


def test_gap_is_current_until_a_repair_holds_its_start(ask: Asked, lake_path: Path) -> None:
    rows = ask(
        lake_path,
        "SELECT source_id, topic_id, start_offset, next_offset, attempt_id FROM current_gaps"
        " ORDER BY source_id, start_offset",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("c1", "id1", 0, 5, "attempt1"),
        ("c1", "id1", 35, 40, "attempt6"),
        ("c2", "id2", 3, 4, "attempt1"),
    ]
