"""The table of a topic has the newest record of each key, whatever came in which order."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode, WrongCallError
from seglake.lake.tables import RECORDS, Table
from seglake.proof.engines import DuckDBProof
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.encoder import topic_id_text
from support.erasures import erased_at
from support.keyed_logs import Values, abort, commit, data, write, write_batches
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.latest_state import (
    assert_all_current,
    assert_current,
    state,
    table_version,
    updated,
    values_of,
)
from support.made_logs import TOPIC_IDS
from support.rising_disks import rising


def test_the_last_value_of_a_key_wins_and_a_tombstone_is_remembered(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log: list[Values] = [("a", b"1"), ("b", b"1"), ("a", b"2")]
    ingested(write(disk, *log), lake)
    summary = updated(lake, "orders")
    assert (summary.topics[0].inserted, summary.exit_code) == (2, ExitCode.DONE)
    assert values_of(lake) == {b"a": b"2", b"b": b"1"}
    log += [("b", None), ("c", b"1"), ("a", b"3"), ("a", b"4")]
    ingested(write(disk, *log), lake)
    [done] = updated(lake).topics
    assert (done.records, done.inserted, done.updated, done.removed) == (4, 1, 2, 0)
    assert values_of(lake) == {b"a": b"4", b"b": None, b"c": b"1"}
    assert [row["key"] for row in assert_current(lake, "orders") if row["is_deleted"]] == [b"b"]


def test_records_without_a_key_have_no_row_and_are_counted(tmp_path: Path) -> None:
    disk, lake = broker_disks.log_dir("03_v2_codecs", "stopped"), tmp_path / "lake"
    # Of topics that only differ in their codec, one.
    topics = ["v2-none", "v2-large", "v2-mixed-1", "v2-odd-times", "v2.many_partitions", "x-delete"]
    ingested(disk, lake, select={"topics": topics})
    records = read_table(lake, "records")
    done = updated(lake, "*").topics
    assert any(each.without_key for each in done)
    found = assert_all_current(lake, [each.topic for each in done])
    for each in done:
        rows = [row for row in records if row["topic"] == each.topic]
        keyless = [row for row in rows if row["key"] is None]
        assert (each.records, each.without_key) == (len(rows), len(keyless))
        assert each.inserted == len(found[each.topic])


def test_a_key_in_two_partitions_has_two_rows(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    for partition in (0, 1):
        ingested(write(disk, ("a", b"%d" % partition), partition=partition), lake)
        updated(lake, "orders")
    assert [(r["partition"], r["value"]) for r in assert_current(lake, "orders")] == [
        (0, b"0"),
        (1, b"1"),
    ]


def test_a_second_run_commits_nothing(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(write(tmp_path / "disk", ("a", b"1")), lake)
    updated(lake, "orders")
    version = table_version(lake)
    summary = updated(lake)
    assert (summary.topics, summary.unchanged, summary.exit_code) == ([], ["orders"], ExitCode.DONE)
    assert table_version(lake) == version


def test_without_topics_only_the_tables_that_are_there_are_brought_up_to_date(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(write(tmp_path / "disk", ("a", b"1")), lake)
    for dry_run in (False, True):
        with pytest.raises(WrongCallError, match="no table of latest state: name topics with --t"):
            updated(lake, dry_run=dry_run)
    assert not (lake / "latest").exists()
    updated(lake, "orders")
    assert updated(lake).unchanged == ["orders"]


def test_a_dry_run_says_what_is_new_and_writes_nothing(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(write(tmp_path / "disk", ("a", b"1")), lake)
    summary = updated(lake, "orders", dry_run=True)
    assert [(plan.table, plan.commits) for plan in summary.planned] == [("latest/orders", 1)]
    assert not (lake / "latest").exists()
    updated(lake, "orders")
    assert updated(lake, "orders", dry_run=True).planned == []


# --- what changes rows that were there ------------------------------------------------------------


def test_a_late_fill_of_an_older_value_revives_no_deleted_key(tmp_path: Path) -> None:
    log: list[Values] = [("a", b"old"), ("b", b"1"), ("a", None), ("b", b"2")]
    log += [("c", b"late"), ("d", b"1")]
    lake = tmp_path / "lake"
    disk, whole = write(tmp_path / "disk", *log), write(tmp_path / "whole", *log)
    path = disk / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    for value in (b"old", b"late"):
        content[content.index(value)] ^= 1
    path.write_bytes(content)
    ingested(disk, lake)
    updated(lake, "orders")
    assert values_of(lake) == {b"a": None, b"b": b"2", b"d": b"1"}
    replayed(lake, whole)
    [done] = updated(lake).topics
    assert (done.records, done.inserted, done.updated, done.computed_anew) == (2, 1, 0, 0)
    assert values_of(lake) == {b"a": None, b"b": b"2", b"c": b"late", b"d": b"1"}
    assert_current(lake, "orders")


def test_rows_that_lose_an_election_are_replaced_by_what_was_before_and_by_the_winner_s(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    loser, winner = (
        broker_disks.log_dir("08_replicas", "diverged", f"broker{number}") for number in (0, 2)
    )
    ingested(loser, lake, read={"upper_bound": "log_end"})
    updated(lake, "rep")
    before = assert_current(lake, "rep")
    ingested(winner, lake)
    [lost] = updated(lake).topics
    assert lost.computed_anew == 3
    assert lost.removed or lost.updated
    between = assert_current(lake, "rep")
    retaken(lake, winner)
    [mended] = updated(lake).topics
    assert mended.computed_anew == 3
    assert len({str(before), str(between), str(assert_current(lake, "rep"))}) == 3
    rows = assert_current(lake, "rep")
    assert updated(lake, "rep", rebuild=True).topics[0].updated == len(rows)
    assert_current(lake, "rep")


def test_a_topic_that_was_made_again_has_rows_of_both_logs(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(write(tmp_path / "disk", ("a", b"1"), ("b", b"1")), lake)
    updated(lake, "orders")
    again = write(tmp_path / "again", ("a", b"2"), topic_id="orders again")
    ingested(again, lake)
    updated(lake)
    found = [(row["topic_id"], row["key"], row["value"]) for row in assert_current(lake, "orders")]
    first, second = (topic_id_text(TOPIC_IDS[name]) for name in ("orders", "orders again"))
    assert sorted(found) == sorted([(first, b"a", b"1"), (first, b"b", b"1"), (second, b"a", b"2")])


def test_rows_get_their_topic_s_id_once_it_is_known(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(write(disk, ("a", b"1"), ("b", b"1"), topic_id=None), lake)
    updated(lake, "orders")
    assert {row["topic_id"] for row in assert_current(lake, "orders")} == {None}
    ingested(write(disk, ("a", b"1"), ("b", b"1"), ("a", b"2")), lake)
    [done] = updated(lake).topics
    assert (done.removed, done.inserted, done.computed_anew) == (2, 2, 1)
    assert len(assert_current(lake, "orders")) == 2


def test_clusters_have_rows_of_their_own(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    for number in range(2):
        for source_id in ("here", "there"):
            values = [("a", source_id.encode()), *[("b", b"1")] * number]
            ingested(write(disk, *values, cluster_id=None), lake, source={"source_id": source_id})
            updated(lake, "orders")
            assert_current(lake, "orders")
    assert len(state(lake, "orders")) == 4


def test_rows_of_two_clusters_in_one_file_are_replaced_one_by_one(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    for source_id in ("there", "here"):
        log: list[Values] = [("a", source_id.encode()), ("b", source_id.encode())]
        ingested(write(disk, *log, cluster_id=None), lake, source={"source_id": source_id})
        updated(lake, "orders")
    maintained(lake)
    assert len(DeltaTable(str(lake / "latest" / "orders")).file_uris()) == 1
    log.append(("a", b"2"))
    ingested(write(disk, *log, cluster_id=None), lake, source={"source_id": "here"})
    assert updated(lake).topics[0].updated == 1
    assert len(assert_current(lake, "orders")) == 4


def test_erased_records_leave_no_row_and_what_was_before_them_counts_again(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    log: list[Values] = [("a", b"1"), ("b", b"1"), ("a", b"2"), ("b", b"2"), ("c", b"1")]
    ingested(write(tmp_path / "disk", *log), lake)
    updated(lake, "orders")
    erased_at(lake, "orders", 0, [2, 4])
    [done] = updated(lake).topics
    assert (done.records, done.inserted, done.updated, done.removed) == (0, 1, 0, 0)
    assert done.computed_anew == 1
    assert values_of(lake) == {b"a": b"1", b"b": b"2"}
    assert_current(lake, "orders")


def test_records_that_were_erased_before_the_table_knew_them_compute_nothing_anew(
    tmp_path: Path,
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(write(disk, ("a", b"1")), lake)
    updated(lake, "orders")
    ingested(write(disk, ("a", b"1"), ("a", b"2"), ("b", b"1")), lake)
    erased_at(lake, "orders", 0, [2])
    [done] = updated(lake).topics
    assert (done.records, done.updated, done.computed_anew) == (1, 1, 0)
    assert values_of(lake) == {b"a": b"2"}
    assert_current(lake, "orders")


def test_a_rebuild_makes_no_commit_for_a_cluster_without_the_topic(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for topic in ("orders", "payments"):
        log = write(tmp_path / topic, ("a", b"1"), topic=topic, topic_id=None, cluster_id=None)
        ingested(log, lake, source={"source_id": topic})
    updated(lake, "orders")
    done = updated(lake, rebuild=True).topics
    assert [(each.source_id, each.updated) for each in done] == [("orders", 1)]


def test_a_run_reads_the_digest_of_the_ledger_and_not_each_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log: list[Values] = [("a", b"1")]
    ingested(write(disk, *log), lake)
    updated(lake, "orders")
    maintained(lake)
    ingested(write(disk, *log, ("a", b"2")), lake)
    read: list[str] = []
    read_bytes = LocalStorage.read_bytes

    def counted(self: LocalStorage, path: str) -> bytes:
        read.append(path)
        return read_bytes(self, path)

    monkeypatch.setattr(LocalStorage, "read_bytes", counted)
    updated(lake)
    assert values_of(lake) == {b"a": b"2"}
    files = [path for path in read if "/checkpoints/" in path and path.endswith(".parquet")]
    assert len([path for path in files if "_delta_log" not in path]) == 1


# --- transactions ---------------------------------------------------------------------------------


def test_an_open_record_counts_once_its_marker_commits_it(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log = [data(7, "a"), data(8, "b"), data(7, "c"), commit(7), data(7, "a"), abort(8), abort(7)]
    seen = []
    for end in range(1, len(log) + 1):
        ingested(write_batches(disk, log[:end]), lake, read={"upper_bound": "log_end"})
        updated(lake, "orders")
        assert_current(lake, "orders")
        seen.append({row["key"]: row["offset"] for row in state(lake, "orders")})
    committed = {b"a": 0, b"c": 2}
    assert seen == [{}, {}, {}, *[committed] * 4]
    assert {row["transaction_state"] for row in state(lake, "orders")} == {"committed"}


def test_a_marker_that_is_filled_in_late_and_aborts_takes_a_record_back(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log = [data(7, "a"), abort(7), data(7, "b"), commit(7)]
    bound = {"upper_bound": "log_end"}
    ingested(write_batches(disk, log[:1]), lake, read=bound)
    folder = write_batches(disk, log) / "orders-0"
    path = folder / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[len(log[0](0).data) + 70] ^= 1
    path.write_bytes(content)
    ingested(disk, lake, read=bound)
    updated(lake, "orders")
    before = {row["key"] for row in assert_current(lake, "orders")}
    replayed(lake, write_batches(tmp_path / "whole", log))
    [done] = updated(lake).topics
    assert {row["key"] for row in assert_current(lake, "orders")} == {b"b"}
    assert (before, done.computed_anew, done.removed) == ({b"a", b"b"}, 1, 1)


@pytest.mark.parametrize("bound", ["high_watermark", "log_end"])
def test_tables_that_grow_with_a_disk_of_transactions_are_the_view_at_each_step(
    bound: str, tmp_path: Path
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    shutil.copytree(broker_disks.log_dir("06_transactions", "stopped"), disk)
    read = {"upper_bound": bound, "undecided_transactions": "rows"}
    for _ in rising(disk, (20, 60, 100)):
        ingested(disk, lake, read=read)
        assert_all_current(lake, [each.topic for each in updated(lake, "*").topics])


def test_older_copies_of_compacted_topics_change_no_newer_row(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for copy in ("after", "before"):
        disk = broker_disks.log_dir("05_compacted", copy)
        topics = ["cmp-tombs", "cmp-txn", "cmp-v0-lz4", "cmp-v1", "cmp-v2"]
        ingested(disk, lake, read={"older_copies": True}, select={"topics": topics})
        done = updated(lake, "*").topics
        assert done
        assert_all_current(lake, [each.topic for each in done])


# --- what a run reads -----------------------------------------------------------------------------


def test_a_run_reads_the_files_of_new_commits_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    log: list[Values] = [("a", b"%d" % number) for number in range(6)]
    read: list[int] = []
    name_files = DuckDBProof.name_files

    def counted(self: DuckDBProof, table: Table, paths: Sequence[str], name: str = "") -> None:
        if table is RECORDS:
            read.append(len(paths))
        name_files(self, table, paths, name)

    monkeypatch.setattr(DuckDBProof, "name_files", counted)
    for end in range(1, len(log) + 1):
        ingested(write(disk, *log[:end]), lake)
        updated(lake, "orders")
    assert read == [1] * len(log)
    maintained(lake)
    ingested(write(disk, *log, ("a", b"last")), lake)
    updated(lake)
    assert values_of(lake) == {b"a": b"last"}
    assert read[len(log) :] == [1]
