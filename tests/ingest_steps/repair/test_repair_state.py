"""Whose gaps a repair fills where the lake or the folder knows no topic id."""

from pathlib import Path

from support.accounts import standing_gaps
from support.audits import audited
from support.damaged_replicas import (
    LARGE_LIMIT,
    SMALL_LIMIT,
    batches_in,
    marked_log,
    marks_in,
    replay_notes,
)
from support.elected_logs import ElectedLog, Written, current, plain, write_elected
from support.encoder import Codec
from support.lakes import ingested, read_table, replayed, retaken, row_versions


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
    before = row_versions(lake)
    assert ingested(tmp_path / "a", lake).exit_code == 0
    assert row_versions(lake) == before


def test_folder_with_the_topic_id_of_another_log_fills_nothing_and_is_not_adopted(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(marked_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    replay_notes(lake, marked_log(tmp_path / "b", 2, "b", topic="orders again"))
    assert marks_in(lake) == {"a"}
    assert {row["topic_id"] for row in read_table(lake, "checkpoints")} == {None}


_LARGE = Written(1, 5, codec=Codec.GZIP)
_SMALL, _ENOUGH = ({"max_decompressed_batch_bytes": limit} for limit in (SMALL_LIMIT, LARGE_LIMIT))


def test_damage_of_a_log_that_lost_an_election_is_none_of_the_one_that_won(tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    size = SMALL_LIMIT // 4
    loser = ElectedLog.of(*plain(1, 5), _LARGE, *plain(1, 2), value_bytes=size)
    winner = ElectedLog.of(*plain(1, 4), *plain(3, 6), value_bytes=size)
    ingested(write_elected(disk, loser), lake, limits=_SMALL)
    write_elected(disk, winner, broker_id=1)
    batches_in(disk / "orders-0")[5].damage()
    ingested(disk, lake)
    retaken(lake, disk)
    summary = replayed(lake, limits=_ENOUGH)
    assert (summary.repaired_gaps, summary.left_spans) == (0, {"crc_mismatch": 1})
    assert current(lake) == [at for at in winner.consumed() if not 25 <= at[0] < 30]
    assert {row["resolution"] for row in read_table(lake, "quarantine")} == {None}
    replayed(lake, write_elected(tmp_path / "new", winner, broker_id=2))
    assert current(lake) == winner.consumed()
    resolved = [row for row in read_table(lake, "quarantine") if row["resolution"] is not None]
    assert [row["defect_code"] for row in resolved] == ["crc_mismatch"]


def test_damage_that_the_retake_of_a_log_met_is_decoded_later(tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    size = SMALL_LIMIT // 4
    large = _LARGE._replace(epoch=3)
    winner = ElectedLog.of(*plain(1, 4), large, *plain(3, 4), large, value_bytes=size)
    ingested(write_elected(disk, ElectedLog.of(*plain(1, 8), value_bytes=size)), lake)
    write_elected(disk, winner, broker_id=1)
    ingested(disk, lake, limits=_SMALL)
    retaken(lake, disk, limits=_SMALL)
    assert audited(lake).exit_code == 0
    replayed(lake, limits=_ENOUGH)
    assert current(lake) == winner.consumed()
    assert audited(lake).exit_code == 0
