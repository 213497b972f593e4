"""What a remote tier has is ingested with what the brokers' disks have, as one log."""

import json
import shutil
from pathlib import Path

import pytest

from seglake.cli.main import main
from seglake.log_dirs.errors import WrongSourceError
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from seglake.task_engine.engine import Engine
from support.audits import audited, checked
from support.broker_disks import unpacked
from support.lakes import ingested, oracle_record, read_table, replayed
from support.oracle import Isolation, expected_records
from support.tiers import (
    CLUSTER,
    COPY_FINISHED,
    LOCAL,
    TieredDisk,
    add_events,
    consumed,
    gaps_of,
    id_of,
    in_lake,
    new_id,
    started,
    updated,
)
from support.walks import sound_units


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_local_and_remote_segments_are_the_log_that_a_consumer_got(
    isolation: str, engine: Engine, lake: Path
) -> None:
    summary = ingested(unpacked(LOCAL), lake, isolation=isolation, engine=engine)
    assert summary.exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, isolation)
    assert {row["cause"] for row in read_table(lake, "gaps")} == {"deleted"}
    again = ingested(unpacked(LOCAL), lake, isolation=isolation, engine=engine)
    assert json.loads(again.to_json())["records"] == 0
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize("isolation", [*Isolation])
def test_objects_in_any_folder_are_found(isolation: Isolation, engine: Engine, lake: Path) -> None:
    scenario = unpacked("12_tiered")
    sources = [scenario / "disks", scenario / "tier"]
    assert ingested(sources, lake, isolation=isolation, engine=engine).exit_code == 0
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    for partition in (0, 1):
        found = [oracle_record(row) for row in rows if row["partition"] == partition]
        assert found == expected_records("12_tiered", "stopped", "ti", partition, isolation)


def test_a_replay_fills_what_was_only_in_the_tier(disk: TieredDisk, lake: Path) -> None:
    before = ingested(disk.data, lake, isolation="read_committed")
    assert before.exit_code == 3
    assert "remote" in {row["cause"] for row in read_table(lake, "gaps")}
    dry = replayed(lake, *disk.sources, dry_run=True)
    assert dry.exit_code == 0
    assert replayed(lake, *disk.sources).exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")
    assert audited(lake).exit_code == 0


def test_a_replay_needs_no_disk_beside_the_tier(disk: TieredDisk, lake: Path) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    assert replayed(lake, disk.remote).exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_a_later_ingest_with_the_tier_fills_the_gaps_of_one_without(
    disk: TieredDisk, lake: Path
) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_a_tier_alone_is_ingested_and_said_to_be_unconfirmed(disk: TieredDisk, lake: Path) -> None:
    summary = ingested(disk.remote, lake, isolation="read_committed", source=CLUSTER)
    assert (
        "confirms the remote segments of plain-0, plain-1, retained-0 and 2 more"
        in summary.to_text()
    )
    everything = consumed(LOCAL, "read_committed")
    for name, rows in in_lake(lake).items():
        assert rows == [row for row in everything[name] if row[0] <= rows[-1][0]]
    assert in_lake(lake).keys() == everything.keys()
    # The lake knows its only cluster, so later runs need no name.
    assert ingested(disk.remote, lake, isolation="read_committed").exit_code == 0


def test_a_tier_alone_needs_the_name_of_its_cluster(disk: TieredDisk, lake: Path) -> None:
    with pytest.raises(
        WrongSourceError, match="a remote tier does not name its cluster: give --source-id"
    ):
        ingested(disk.remote, lake)


def test_a_damaged_object_is_filled_from_another_upload(disk: TieredDisk, lake: Path) -> None:
    place = disk.place("plain")
    bad = place.objects()[0]
    start, stop = int(bad.name[:20]), int(place.objects()[1].name[:20])
    other = new_id()
    shutil.copy(bad, bad.with_name(f"{bad.name[:21]}{other}.log"))
    add_events(
        disk,
        id_of(bad),
        started(place, other, (start, stop), [(0, start)]),
        updated(place, other, COPY_FINISHED),
    )
    for path in place.objects():
        if path.name.startswith(bad.name[:20]) and path != bad:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
    ingested(disk.sources, lake, isolation="read_committed")
    assert in_lake(lake)["plain-0"] == consumed(LOCAL, "read_committed")["plain-0"]


@pytest.mark.parametrize("half", [0, 1])
def test_damage_is_filled_from_the_part_of_another_upload_that_is_not_read(
    half: int, disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    place = disk.place("plain")
    first, second = place.objects()[:2]
    stop = int(place.objects()[2].name[:20])
    longer = new_id()
    joined = first.with_name(f"{first.name[:21]}{longer}.log")
    joined.write_bytes(first.read_bytes() + second.read_bytes()[:-1000])
    add_events(
        disk,
        id_of(first),
        started(place, longer, (0, stop - 5), [(0, 0)]),
        updated(place, longer, COPY_FINISHED),
    )
    # The longer one is read up to the second one, and the first one not at all.
    bad = (joined, second)[half]
    content = bytearray(bad.read_bytes())
    content[400] ^= 1
    bad.write_bytes(content)
    ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert in_lake(lake) == consumed(LOCAL, "read_committed")
    assert {row["defect_code"] for row in read_table(lake, "quarantine")} == {"crc_mismatch"}
    assert audited(lake).exit_code == 0


def test_overlapping_uploads_of_one_log_are_read_once(disk: TieredDisk, lake: Path) -> None:
    """A new leader uploads its own segments, which begin elsewhere."""
    place = disk.place("plain")
    first, second = place.objects()[:2]
    stop = int(place.objects()[2].name[:20])
    longer = new_id()
    joined = first.with_name(f"{first.name[:21]}{longer}.log")
    joined.write_bytes(first.read_bytes() + second.read_bytes()[:-1000])
    add_events(
        disk,
        id_of(first),
        started(place, longer, (0, stop - 5), [(0, 0)]),
        updated(place, longer, COPY_FINISHED),
    )
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_a_remote_segment_ends_where_the_disk_begins(disk: TieredDisk, lake: Path) -> None:
    """The replica of another leader has its segments at other offsets."""
    place = disk.place("plain")
    before, first = (path for path in place.objects() if int(path.name[:20]) in (460, 560))
    longer = new_id()
    joined = before.with_name(f"{before.name[:21]}{longer}.log")
    joined.write_bytes(before.read_bytes() + first.read_bytes()[:-3000])
    first.unlink()
    add_events(
        disk,
        id_of(before),
        started(place, longer, (460, 700), [(0, 460), (2, 600)]),
        updated(place, longer, COPY_FINISHED),
    )
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")
    segments = {row["segment"] for row in read_table(lake, "batches") if row["topic"] == "plain"}
    assert any(longer in name for name in segments)


def test_a_tier_that_fails_while_a_segment_is_cut_leaves_the_disk_to_be_read(
    disk: TieredDisk, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, opened = disk.place("plain"), LocalStorage.open_reader
    (oldest,) = (disk.data / "plain-0").glob(f"{560:020}.log")
    data = oldest.read_bytes()
    cut = next(each.position for each in sound_units(data, 560) if each.first_offset >= 600)
    oldest.with_name(f"{600:020}.log").write_bytes(data[cut:])
    for path in (disk.data / "plain-0").glob(f"{560:020}.*"):
        path.unlink()

    def open_reader(storage: LocalStorage, path: str) -> Reader:
        if path.startswith(str(place.folder)) and f"{560:020}" in path:
            raise StorageError(action="read", path=path, reason="the store is tired")
        return opened(storage, path)

    monkeypatch.setattr(LocalStorage, "open_reader", open_reader)
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 3
    assert any("the store is tired" in why for why in summary.left_out.values())
    rows = consumed(LOCAL, "read_committed")["plain-0"]
    assert in_lake(lake)["plain-0"] == [row for row in rows if not 560 <= row[0] < 600]


def test_newest_objects_that_a_tier_lacks_are_named(disk: TieredDisk, lake: Path) -> None:
    """Another broker has the partition's folder, and its disk was not copied."""
    shutil.rmtree(disk.data / "zstd-0")
    last = disk.place("zstd").objects()[-1]
    last.unlink()
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 3
    assert "__remote_log_metadata says 2720" in summary.to_text()
    rows = in_lake(lake)["zstd-0"]
    assert rows[-1][0] == int(last.name[:20]) - 1


def test_a_truncated_object_is_named_and_the_log_goes_on(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    bad = disk.place("plain").objects()[1]
    bad.write_bytes(bad.read_bytes()[:-500])
    assert ingested(disk.sources, lake, isolation="read_committed", engine=engine).exit_code == 3
    everything = consumed(LOCAL, "read_committed")
    (gap,) = gaps_of(lake, "plain")
    start, stop, cause, _ = gap
    assert (stop, cause) == (int(disk.place("plain").objects()[2].name[:20]), "quarantined")
    rest = [row for row in everything["plain-0"] if not start <= row[0] < stop]
    assert in_lake(lake) == {**everything, "plain-0": rest}


def test_a_lake_inside_of_a_tier_is_a_wrong_call(disk: TieredDisk) -> None:
    with pytest.raises(WrongSourceError, match="is inside the folder of a remote tier"):
        ingested(disk.remote, disk.place("zstd").folder / "lake", source=CLUSTER)


def test_a_disk_that_lacks_its_newest_segments_is_completed_by_the_tier(
    disk: TieredDisk, lake: Path
) -> None:
    """A broker's disk may be an old copy, of a time before the newest uploads."""
    for path in (disk.data / "zstd-0").iterdir():
        if path.name[:20].isdigit():
            path.unlink()
    ingested(disk.sources, lake, isolation="read_committed")
    end = int(disk.place("zstd").objects()[-1].name[:20])
    rows = in_lake(lake)["zstd-0"]
    assert rows[-1][0] > end
    assert rows == consumed(LOCAL, "read_committed")["zstd-0"][: len(rows)]


def test_a_disk_from_before_an_election_is_completed_by_the_tier(
    disk: TieredDisk, lake: Path
) -> None:
    for path in (disk.data / "zstd-0").iterdir():
        if path.name[:20].isdigit():
            path.unlink()
    first = disk.place("zstd").objects()[0]
    shutil.copy(first, disk.data / "zstd-0" / f"{first.name[:20]}.log")
    (disk.data / "zstd-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    mark = disk.data / "replication-offset-checkpoint"
    mark.write_text(mark.read_text().replace("zstd 0 2800", "zstd 0 100"))
    ingested(disk.sources, lake, isolation="read_committed")
    rows = in_lake(lake)["zstd-0"]
    assert rows[-1][0] > int(disk.place("zstd").objects()[-1].name[:20])
    assert rows == consumed(LOCAL, "read_committed")["zstd-0"][: len(rows)]


def test_a_segment_that_its_broker_deletes_meanwhile_is_read_from_the_tier(
    disk: TieredDisk, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = disk.data / "plain-0" / f"{560:020}.log"
    opened = LocalStorage.open_reader

    def open_reader(storage: LocalStorage, path: str) -> Reader:
        if path == str(oldest) and oldest.exists():
            for file in oldest.parent.glob(f"{560:020}.*"):
                file.unlink()
        return opened(storage, path)

    monkeypatch.setattr(LocalStorage, "open_reader", open_reader)
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 0
    assert not oldest.exists()
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


def test_cat_prints_local_and_remote_segments(
    disk: TieredDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cat", "--topics", "zstd", "--source", *map(str, disk.sources)]) == 0
    found = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
    assert found == [row[0] for row in consumed(LOCAL, "read_committed")["zstd-0"]]


def test_a_deleted_topic_leaves_nothing(disk: TieredDisk, lake: Path) -> None:
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 0
    assert "deleted" not in {row["topic"] for row in read_table(lake, "records")}


def test_an_audit_compares_with_the_tier(disk: TieredDisk, lake: Path) -> None:
    ingested(disk.sources, lake, isolation="read_committed")
    found = {check.partition: check for check in checked(disk.sources, lake)}
    everything = consumed(LOCAL, "read_committed")
    assert {name: check.report.equal for name, check in found.items()} == {
        name: len(rows) for name, rows in everything.items()
    }
    assert not any(check.has_problem for check in found.values())


def test_an_audit_does_not_call_records_deleted_that_the_tier_has(
    disk: TieredDisk, lake: Path
) -> None:
    ingested(disk.data, lake, isolation="read_committed")
    (check,) = [each for each in checked(disk.sources, lake) if each.partition == "plain-0"]
    assert {*check.report.left_out} == {"in a gap (remote)"}
