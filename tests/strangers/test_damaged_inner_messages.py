"""Old compressed sets of which one message is damaged, though the checksum of the set holds."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from seglake.cli import cat_command
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.encoder import EncodedBatch, Partition, Segment
from support.inner_messages import (
    bad_messages,
    inner,
    sound_set,
    value_of,
    with_bad_crc,
    with_size,
    wrapped,
)
from support.lakes import Row, by_partition, ingested, read_table, replayed
from support.made_logs import write_over
from support.taken import gaps_taken


def _disk(folder: Path, middle: Sequence[bytes], magic: int, *, broker_id: int = 0) -> Path:
    """Offsets 0 to 4, a set of 5 to 9, and 10 to 12; the high watermark is 13."""
    return _written(folder, _log(middle, magic), broker_id=broker_id)


def _log(middle: Sequence[bytes], magic: int) -> list[EncodedBatch]:
    return [
        wrapped(4, sound_set(0, 5, magic), magic),
        wrapped(9, middle, magic),
        wrapped(12, sound_set(10, 13, magic), magic),
    ]


def _each_on_one_disk(folder: Path, middles: Iterable[tuple[Sequence[bytes], int]]) -> Path:
    """A log like that of `_disk` for each set and its magic, as partitions of one topic."""
    logs = [[Segment(0, _log(*middle))] for middle in middles]
    return write_over(
        folder, [Partition("orders", at, log, high_watermark=13) for at, log in enumerate(logs)]
    )


def _written(
    folder: Path, log: Sequence[EncodedBatch], *, high_watermark: int = 13, broker_id: int = 0
) -> Path:
    partition = Partition("orders", 0, [Segment(0, list(log))], high_watermark=high_watermark)
    return write_over(folder, [partition], broker_id=broker_id)


def _with_bad(place: int, bad: bytes, magic: int) -> list[bytes]:
    messages = sound_set(5, 10, magic)
    messages[place] = bad
    return messages


def _values(lake: Path) -> dict[int, bytes]:
    rows = read_table(lake, "records")
    values = {row["offset"]: row["value"] for row in rows}
    assert len(values) == len(rows)
    return values


def _expected(*, without: Sequence[int] = ()) -> dict[int, bytes]:
    return {offset: value_of(offset) for offset in range(13) if offset not in without}


def _quarantine(lake: Path) -> list[Row]:
    return read_table(lake, "quarantine")


def _assert_only_lost(lake: Path, lost: Sequence[int]) -> None:
    """Each partition has all records but that of one offset, which is its only gap."""
    records, gaps = by_partition(lake, "records"), by_partition(lake, "gaps")
    for partition, offset in enumerate(lost):
        own = sorted((row["offset"], row["value"]) for row in records[partition])
        assert own == sorted(_expected(without=[offset]).items()), partition
        (gap,) = gaps[partition]
        assert (gap["start_offset"], gap["next_offset"]) == (offset, offset + 1), partition
        assert gap["cause"] == "quarantined", partition
    assert imbalances_of(lake) == []


def test_a_damaged_message_costs_only_itself(engine: Engine, tmp_path: Path, lake: Path) -> None:
    damaged = [
        (name, magic, bad)
        for magic in (0, 1)
        for name, bad in bad_messages(sound_set(5, 10, magic)[2]).items()
    ]
    middles = ((_with_bad(2, bad.message, magic), magic) for _, magic, bad in damaged)
    disk = _each_on_one_disk(tmp_path / "data", middles)
    summary = ingested(disk, lake, engine=engine)
    names = {f"orders-{partition}" for partition in range(len(damaged))}
    assert (summary.exit_code, {*summary.damaged}) == (3, names)
    _assert_only_lost(lake, [7] * len(damaged))
    quarantine = by_partition(lake, "quarantine")
    for partition, (name, magic, bad) in enumerate(damaged):
        (row,) = quarantine[partition]
        assert (row["raw"], row["length_bytes"]) == (bad.message, len(bad.message)), (name, magic)
        assert (row["base_offset"], row["last_offset"]) == (7, 7), (name, magic)
        assert (row["previous_offset"], row["next_offset"]) == (6, 8), (name, magic)
        if bad.code:
            found = row["defect_code"], bad.text in row["defect_detail"]
            assert found == (bad.code, True), (name, magic)
        assert "of the decompressed set" in row["defect_detail"], (name, magic)


def test_it_may_stand_anywhere_in_its_set(tmp_path: Path, lake: Path) -> None:
    places = [(place, magic) for place in range(5) for magic in (0, 1)]
    middles = (
        (_with_bad(place, with_bad_crc(sound_set(5, 10, magic)[place]), magic), magic)
        for place, magic in places
    )
    ingested(_each_on_one_disk(tmp_path / "data", middles), lake)
    _assert_only_lost(lake, [5 + place for place, _ in places])


@pytest.mark.parametrize("magic", [0, 1])
def test_several_cost_themselves(magic: int, tmp_path: Path) -> None:
    messages = sound_set(5, 10, magic)
    for place in (0, 2, 3):
        messages[place] = with_bad_crc(messages[place])
    ingested(_disk(tmp_path / "data", messages, magic), tmp_path / "lake")
    assert _values(tmp_path / "lake") == _expected(without=[5, 7, 8])
    assert gaps_taken(tmp_path / "lake") == [(5, 6, "quarantined"), (7, 9, "quarantined")]
    assert len(_quarantine(tmp_path / "lake")) == 3
    assert imbalances_of(tmp_path / "lake") == []


def test_what_came_before_an_unreadable_rest_is_kept(engine: Engine, tmp_path: Path) -> None:
    messages = sound_set(5, 10, 0)
    rest = with_size(messages[2], 3)[:20] + bytes(30)
    disk = _disk(tmp_path / "data", [*messages[:2], rest], 0)
    ingested(disk, tmp_path / "lake", engine=engine)
    assert _values(tmp_path / "lake") == _expected(without=[7, 8, 9])
    assert gaps_taken(tmp_path / "lake") == [(7, 10, "quarantined")]
    assert [row["raw"] for row in _quarantine(tmp_path / "lake")] == [rest]
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
def test_the_next_run_goes_on_behind_it(magic: int, tmp_path: Path) -> None:
    bad = with_bad_crc(sound_set(5, 10, magic)[4])
    log = [
        wrapped(4, sound_set(0, 5, magic), magic),
        wrapped(9, _with_bad(4, bad, magic), magic),
        wrapped(12, sound_set(10, 13, magic), magic),
    ]
    for reached, count in ((10, 2), (13, 3)):
        disk = _written(tmp_path / "data", log[:count], high_watermark=reached)
        ingested(disk, tmp_path / "lake")
    assert _values(tmp_path / "lake") == _expected(without=[9])
    assert gaps_taken(tmp_path / "lake") == [(9, 10, "quarantined")]
    assert ingested(disk, tmp_path / "lake").exit_code == 0
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
def test_a_replica_that_comes_later_fills_it(magic: int, tmp_path: Path) -> None:
    bad = with_bad_crc(sound_set(5, 10, magic)[2])
    damaged = _disk(tmp_path / "damaged", _with_bad(2, bad, magic), magic)
    sound = _disk(tmp_path / "sound", sound_set(5, 10, magic), magic, broker_id=1)
    ingested(damaged, tmp_path / "lake")
    replayed(tmp_path / "lake", sound)
    assert _values(tmp_path / "lake") == _expected()
    assert imbalances_of(tmp_path / "lake") == []
    assert {row["resolution"] for row in _quarantine(tmp_path / "lake")} == {None, "sibling"}


@pytest.mark.parametrize("magic", [0, 1])
def test_a_replica_with_other_records_beside_it_fills_nothing(magic: int, tmp_path: Path) -> None:
    bad = with_bad_crc(sound_set(5, 10, magic)[2])
    damaged = _disk(tmp_path / "damaged", _with_bad(2, bad, magic), magic)
    other = sound_set(5, 10, magic)
    other[1] = inner(6 if magic == 0 else 1, magic, 99)
    _disk(tmp_path / "other", other, magic, broker_id=1)
    ingested(damaged, tmp_path / "lake")
    replayed(tmp_path / "lake", tmp_path / "other")
    assert _values(tmp_path / "lake") == _expected(without=[7])


@pytest.mark.parametrize("magic", [0, 1])
def test_a_replay_of_its_bytes_alone_fills_nothing(magic: int, tmp_path: Path) -> None:
    bad = bad_messages(sound_set(5, 10, magic)[2])["nested"].message
    disk = _disk(tmp_path / "data", _with_bad(2, bad, magic), magic)
    ingested(disk, tmp_path / "lake")
    replayed(tmp_path / "lake")
    assert _values(tmp_path / "lake") == _expected(without=[7])
    assert imbalances_of(tmp_path / "lake") == []


def test_a_set_of_nothing_but_damage_is_one_defect(tmp_path: Path) -> None:
    messages = [with_bad_crc(message) for message in sound_set(5, 10, 1)]
    ingested(_disk(tmp_path / "data", messages, 1), tmp_path / "lake")
    (row,) = _quarantine(tmp_path / "lake")
    assert row["raw"] == wrapped(9, messages, 1).data
    assert gaps_taken(tmp_path / "lake") == [(5, 10, "quarantined")]
    assert imbalances_of(tmp_path / "lake") == []


def _without_end(start: int, stop: int) -> list[bytes]:
    """Messages of magic 1 whose last one is cut off, so that nothing inside tells the offsets."""
    messages = sound_set(start, stop, 1)
    return [*messages[:-1], messages[-1][:-3]]


def test_a_set_of_format_v1_without_its_end_follows_on_the_set_before_it(
    engine: Engine, tmp_path: Path
) -> None:
    disk = _disk(tmp_path / "data", _without_end(5, 10), 1)
    ingested(disk, tmp_path / "lake", engine=engine)
    assert _values(tmp_path / "lake") == _expected(without=[9])
    assert gaps_taken(tmp_path / "lake") == [(9, 10, "quarantined")]
    assert imbalances_of(tmp_path / "lake") == []


def test_behind_damage_nothing_tells_the_offsets_of_a_set_without_its_end(tmp_path: Path) -> None:
    first = wrapped(4, sound_set(0, 5, 1), 1)
    damaged = first._replace(data=first.data[:-1] + bytes([first.data[-1] ^ 1]))
    log = [damaged, wrapped(9, _without_end(5, 10), 1), wrapped(12, sound_set(10, 13, 1), 1)]
    ingested(_written(tmp_path / "data", log), tmp_path / "lake")
    assert _values(tmp_path / "lake") == {offset: value_of(offset) for offset in (10, 11, 12)}
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("damaged_broker", [0, 1])
def test_another_replica_fills_it_in_the_same_run(
    magic: int, damaged_broker: int, engine: Engine, tmp_path: Path
) -> None:
    bad = with_bad_crc(sound_set(5, 10, magic)[2])
    disks = [
        _disk(tmp_path / "a", _with_bad(2, bad, magic), magic, broker_id=damaged_broker),
        _disk(tmp_path / "b", sound_set(5, 10, magic), magic, broker_id=1 - damaged_broker),
    ]
    ingested(disks, tmp_path / "lake", engine=engine)
    assert _values(tmp_path / "lake") == _expected()
    assert imbalances_of(tmp_path / "lake") == []


def test_records_printed_from_the_disk_are_those_of_the_lake(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    bad = with_bad_crc(sound_set(5, 10, 1)[2])
    disk = _disk(tmp_path / "data", _with_bad(2, bad, 1), 1)
    arguments = ["--source", str(disk), "--topics", "orders", "--format", "value"]
    assert cat_command.main(arguments) == 3
    ingested(disk, tmp_path / "lake")
    values = _values(tmp_path / "lake")
    lines = capsysbinary.readouterr().out.splitlines()
    assert lines == [values[offset] for offset in sorted(values)]


def test_a_set_with_thousands_of_damaged_messages_is_one_defect(tmp_path: Path) -> None:
    """Else a small disk could make a row of each few bytes that it decompresses to."""
    messages = sound_set(5, 10_005, 1)
    messages[::2] = [with_bad_crc(message) for message in messages[::2]]
    log = [wrapped(4, sound_set(0, 5, 1), 1), wrapped(10_004, messages, 1)]
    ingested(_written(tmp_path / "data", log, high_watermark=10_005), tmp_path / "lake")
    (row,) = _quarantine(tmp_path / "lake")
    assert (row["defect_code"], row["length_bytes"]) == ("inner_crc_mismatch", len(log[1].data))
    assert gaps_taken(tmp_path / "lake") == [(5, 10_005, "quarantined")]
    assert imbalances_of(tmp_path / "lake") == []
