"""What must not fill a gap: other logs, misled searches, and what would be said again and again."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.pipelines.segment_ingest.replay import replay
from seglake.pipelines.settings.settings import Settings
from seglake.task_engine.engine import LocalEngine
from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.audits import audited
from support.encoder import Header, Partition, Record, Segment, record_batch
from support.lakes import ingested, local_scan, read_table, versions
from support.made_logs import FIRST_MS, TOPIC_IDS, make_log_dir, write_over
from support.transaction_logs import TransactionLog, abort, commit, sent, write_log

_ORDERS = ("orders", 0)


def _log(
    folder: Path,
    broker_id: int,
    text: str,
    *,
    topic: str | None = None,
    damaged: Sequence[int] = (),
) -> Path:
    """Batches of five up to offset 40, their values marked; `topic` names the topic id."""
    batches = []
    for base in range(0, 40, 5):
        offsets = range(base, base + 5)
        records = [Record(b"k", f"{text}{offset}".encode(), FIRST_MS) for offset in offsets]
        batches.append(record_batch(base, records, Header(leader_epoch=0)))
    topic_id = None if topic is None else TOPIC_IDS[topic]
    partition = Partition("orders", 0, (Segment(0, batches),), topic_id=topic_id, high_watermark=40)
    write_over(folder, [partition], broker_id=broker_id)
    log = folder / "orders-0" / f"{0:020}.log"
    content, ends = bytearray(log.read_bytes()), 0
    for index, batch in enumerate(batches):
        ends += len(batch.data)
        content[ends - 1] ^= 0xFF * (index in damaged)
    log.write_bytes(content)
    return folder


def _replayed(lake: Path, source: Path) -> list[str]:
    with LocalEngine(1) as engine:
        settings = Settings.from_mappings([])
        summary = replay(str(lake), [str(source)], local_scan(settings, engine))
    return summary.notes


def _logs_of(lake: Path) -> set[str]:
    return {row["value"][:1].decode() for row in read_table(lake, "records")}


def test_replay_takes_nothing_of_another_log_without_topic_id(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    notes = _replayed(lake, _log(tmp_path / "b", 1, "b"))
    assert any("other batches beside it" in note for note in notes)
    assert _logs_of(lake) == {"a"}
    assert standing_gaps(lake) == [StandingGap("orders", 0, 10, 15, "quarantined")]


def test_ingest_takes_nothing_of_another_log_given_as_a_sibling(tmp_path: Path) -> None:
    disks = [_log(tmp_path / "a", 1, "a", damaged=[2]), _log(tmp_path / "b", 2, "b")]
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    ingested(disks, lake)
    assert _logs_of(lake) == {"a"}
    assert imbalances_of(lake) == []


def test_folder_without_topic_id_fills_gaps_of_the_newest_topic_only(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_log(tmp_path / "a", 1, "a", topic="orders", damaged=[2]), lake)
    ingested(_log(tmp_path / "b", 1, "b", topic="orders again", damaged=[4]), lake)
    ingested(_log(tmp_path / "c", 2, "b"), lake)
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
    ingested(_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    summary = ingested(_log(tmp_path / "b", 2, "a", topic="orders"), lake)
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
    ingested(_log(tmp_path / "a", 1, "a", damaged=[2]), lake)
    _replayed(lake, _log(tmp_path / "b", 2, "b", topic="orders again"))
    assert _logs_of(lake) == {"a"}
    assert {row["topic_id"] for row in read_table(lake, "checkpoints")} == {None}


@pytest.mark.parametrize("end", [b"\0" * 50, b"\x07" * 9])
def test_unfinished_end_of_a_copy_is_not_recorded_by_every_run(tmp_path: Path, end: bytes) -> None:
    one = make_log_dir(tmp_path / "one", {_ORDERS: [0, 20, 40, 60]}, broker_id=1)
    (one / "orders-0" / f"{20:020}.log").unlink()
    two = make_log_dir(
        tmp_path / "two", {_ORDERS: [0, 20, 30]}, broker_id=2, high_watermarks={_ORDERS: 60}
    )
    last = two / "orders-0" / f"{20:020}.log"
    last.write_bytes(last.read_bytes() + end)
    lake = tmp_path / "lake"
    ingested(one, lake)
    ingested(two, lake)
    before = versions(lake)
    ingested(two, lake)
    assert versions(lake) == before
    assert [(g.start_offset, g.next_offset) for g in standing_gaps(lake)] == [(30, 40)]


def test_index_that_names_no_batch_starts_does_not_mislead_a_search(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 400, 420]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1, value_bytes=100)
    (one / "orders-0" / f"{20:020}.log").unlink()
    two = make_log_dir(tmp_path / "two", edges, broker_id=2, value_bytes=100)
    index = two / "orders-0" / f"{20:020}.index"
    index.write_bytes(struct.pack(">iiii", 1, 5003, 100, 20011))
    lake = tmp_path / "lake"
    ingested(one, lake)
    ingested(two, lake)
    assert standing_gaps(lake) == []
    assert read_table(lake, "quarantine") == []


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_data_whose_end_may_be_missing_is_not_settled_by_a_later_marker(
    tmp_path: Path, isolation: str
) -> None:
    log = TransactionLog.of([sent(), sent(1), sent(), abort(1), sent(), sent(1), commit(1), sent()])
    disks = [tmp_path / "1", tmp_path / "2"]
    for disk, hit in zip(disks, ((1, 3), (3,)), strict=True):
        write_log(disk, log, (0,), has_files=False)
        path = disk / "orders-0" / f"{0:020}.log"
        content = bytearray(path.read_bytes())
        for index in hit:
            content[
                sum(len(b.data) for b in log.batches(0, log.placed[index].next_offset)) - 1
            ] ^= 255
        path.write_bytes(content)
    lake = tmp_path / "lake"
    ingested(disks[0], lake, isolation=isolation)
    summary = ingested(disks[1], lake, isolation=isolation)
    assert not {row["offset"] for row in read_table(lake, "records")} & {3, 4, 5}
    assert any("may be how they ended" in note for note in summary.notes)
    write_log(disks[1], log, (0,), has_files=False)
    ingested(disks[1], lake, isolation=isolation)
    states = {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}
    expected = log.states(log.next_offset)
    if isolation == "read_committed":
        expected = {offset: state for offset, state in expected.items() if state != "aborted"}
    assert states == expected
    assert imbalances_of(lake) == []
