"""Whose gaps a repair fills where the lake or the folder knows no topic id."""

from pathlib import Path

from support.accounts import standing_gaps
from support.audits import audited
from support.damaged_replicas import marked_log, marks_in, replay_notes
from support.lakes import ingested, read_table, versions


def test_folder_without_topic_id_fills_gaps_of_the_newest_topic_only(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(marked_log(tmp_path / "a", 1, "a", topic="orders", damaged=[2]), lake)
    ingested(marked_log(tmp_path / "b", 1, "b", topic="orders again", damaged=[4]), lake)
    ingested(marked_log(tmp_path / "c", 2, "b"), lake)
    gaps = [(gap.start_offset, gap.next_offset) for gap in standing_gaps(lake)]
    assert gaps == [(10, 15)]
    rows = read_table(lake, "records")
    by_id = {
        row["topic_id"]: {r["value"][:1] for r in rows if r["topic_id"] == row["topic_id"]}
        for row in rows
    }
    assert sorted(map(sorted, by_id.values())) == [[b"a"], [b"b"]]


def test_folder_with_topic_id_fills_a_lake_that_knows_none(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(marked_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    summary = ingested(marked_log(tmp_path / "b", 2, "a", topic="orders"), lake)
    assert (summary.counts.repaired_gaps, summary.counts.repaired_records) == (1, 5)
    assert audited(lake).exit_code == 0
    ledger = {row["kind"]: row["topic_id"] for row in read_table(lake, "checkpoints")}
    assert ledger["ingest"] is None
    assert ledger["repair"] is not None
    before = versions(lake)
    assert ingested(tmp_path / "a", lake).exit_code == 0
    assert versions(lake) == before


def test_folder_with_the_topic_id_of_another_log_fills_nothing_and_is_not_adopted(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(marked_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    replay_notes(lake, marked_log(tmp_path / "b", 2, "b", topic="orders again"))
    assert marks_in(lake) == {"a"}
    assert {row["topic_id"] for row in read_table(lake, "checkpoints")} == {None}
