"""Damage in a copy from before a compaction: it is in quarantine once, whatever comes first."""

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import audited, kinds
from support.cases import cases
from support.cleaned_logs import Batch, Disk, committed_rows, random_copies, write_disk
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    ProducerEntry,
    Record,
    Segment,
    end_marker,
    producer_snapshot,
    record_batch,
    write_checkpoint,
)
from support.lakes import by_partition, ingested, read_table, retaken
from support.made_logs import FIRST_MS, made_batches, topic_id_of, write_over
from support.orders_of_copies import Calls, orders, rounds, written
from support.views import viewed

_READ = {"older_copies": True, "upper_bound": "log_end"}
_GAPS = "SELECT start_offset, next_offset, cause FROM current_gaps ORDER BY start_offset"


def _flipped(batch: EncodedBatch) -> EncodedBatch:
    content = bytearray(batch.data)
    content[-3] ^= 1
    return batch._replace(data=bytes(content))


def _write(
    folder: Path,
    batches: Sequence[EncodedBatch],
    broker_id: int,
    cleaner_offset: int | None = None,
    number: int = 0,
) -> Path:
    partition = Partition("orders", number, [Segment(0, batches)], topic_id=topic_id_of("orders"))
    write_over(folder, [partition], broker_id=broker_id)
    if cleaner_offset is not None:
        write_checkpoint(folder / "cleaner-offset-checkpoint", {("orders", number): cleaner_offset})
    return folder


def _copies(folder: Path, number: int = 0) -> dict[str, Path]:
    """A cleaned disk, and two from before: one has a flipped bit in what the cleaner removed."""
    whole = made_batches("orders", 0, range(30))
    damaged = [whole[0], *map(_flipped, whole[1:2]), *whole[2:]]
    return {
        "cleaned": _write(folder / "cleaned", [whole[0], *whole[4:]], 0, 30, number),
        "damaged": _write(folder / "damaged", damaged, 1, number=number),
        "sound": _write(folder / "sound", whole, 2, number=number),
    }


def _quarantined(lake: Path) -> list[tuple[str, str]]:
    rows = [row for row in read_table(lake, "quarantine") if row["resolution"] is None]
    return [(row["defect_code"], hashlib.sha256(row["raw"]).hexdigest()) for row in rows]


@pytest.mark.parametrize(("older", "exit_code"), [("damaged", 3), ("sound", 0)])
def test_a_retake_reports_what_an_older_copy_brought_and_its_damage_as_an_ingest_does(
    tmp_path: Path, older: str, exit_code: int
) -> None:
    copies, lake = _copies(tmp_path), tmp_path / "lake"
    disks = copies["cleaned"], copies[older]
    ingested(disks[0], lake, read={"upper_bound": "log_end"})
    again = retaken(lake, *disks, selection=Selection(is_whole=True), read=_READ)
    once = ingested(disks, tmp_path / "once", read=_READ)
    assert (again.exit_code, once.exit_code) == (exit_code, exit_code)
    assert (again.damaged, again.defects) == (once.damaged, once.defects)
    assert again.quarantined_bytes == once.counts.quarantined_bytes
    assert again.gaps == once.gaps
    assert again.refilled == once.refilled


_CALLS: tuple[Calls, ...] = (((0,), (1,)), ((0, 1),), ((1, 0),), ((1,), (0,)))


def test_a_flipped_bit_in_what_the_cleaner_removed_is_in_quarantine_and_no_compaction(
    tmp_path: Path, lake: Path
) -> None:
    damaged = _flipped(made_batches("orders", 0, range(30))[1]).data
    ways = [(*calls, (1,), (0, 1)) for calls in _CALLS]
    given = written(ways, lambda number: [*_copies(tmp_path / str(number), number).values()])
    found = Counter[str]()
    for disks in rounds(given):
        summary = ingested(disks, lake, read=_READ)
        found.update(summary.damaged)
        count = len(summary.damaged)
        assert summary.defects == ({"crc_mismatch": count} if count else {})
        assert summary.exit_code == (3 if count else 0)
    assert found == {f"orders-{order.partition}": 1 for order in given}
    assert "no loss" not in summary.to_text()
    assert "NOT recovered: 20 offsets hidden by damaged bytes" in summary.to_text()
    assert _quarantined(lake) == [("crc_mismatch", hashlib.sha256(damaged).hexdigest())] * 4
    gap = {"start_offset": 5, "next_offset": 10, "cause": "quarantined"}
    assert viewed(lake, _GAPS) == [gap] * 4
    records = Counter(row["partition"] for row in read_table(lake, "records"))
    assert records == {order.partition: 25 for order in given}
    assert kinds(audited(lake)) == set()


def test_damage_beside_rows_that_the_cleaner_left_is_kept_once(tmp_path: Path) -> None:
    # The cleaner took records of a batch, and no whole batch: the lake has no gap.
    whole, lake = made_batches("orders", 0, range(15)), tmp_path / "lake"
    few = Record(b"k7", b"left", FIRST_MS, offset=7), Record(b"k9", b"left", FIRST_MS, offset=9)
    cleaned = _write(tmp_path / "cleaned", [whole[0], record_batch(5, few), whole[2]], 0, 15)
    damaged = _write(tmp_path / "damaged", [whole[0], _flipped(whole[1]), whole[2]], 1)
    codes = [ingested(disk, lake, read=_READ).exit_code for disk in (cleaned, damaged, damaged)]
    assert codes == [0, 3, 0]
    assert len(_quarantined(lake)) == 1
    assert kinds(audited(lake)) == set()


def test_damage_of_an_older_copy_beside_nothing_that_the_lake_lacks_stays_out(
    tmp_path: Path,
) -> None:
    whole, lake = made_batches("orders", 0, range(30)), tmp_path / "lake"
    cleaned = _write(tmp_path / "cleaned", [whole[0], *whole[2:]], 0, 30)
    damaged = _write(tmp_path / "damaged", [*whole[:4], _flipped(whole[4]), whole[5]], 1)
    codes = [ingested(disk, lake, read=_READ).exit_code for disk in (cleaned, damaged)]
    assert (codes, _quarantined(lake)) == ([0, 0], [])
    assert len(read_table(lake, "records")) == 30


def _transactions() -> list[EncodedBatch]:
    """Producer 7's data at 5, its abort at 7, data at 9 and its commit at 10, and plain data."""

    def batch(offset: int, header: Header) -> EncodedBatch:
        return record_batch(offset, [Record(f"k{offset}".encode(), b"v", FIRST_MS)], header)

    inside = Header(producer=Producer(7, 0), is_transactional=True)
    return [
        *made_batches("orders", 0, range(5)),
        batch(5, inside),
        batch(6, Header()),
        end_marker(7, ControlType.ABORT, producer_id=7, timestamp_ms=FIRST_MS),
        batch(8, Header()),
        batch(9, inside),
        end_marker(10, ControlType.COMMIT, producer_id=7, timestamp_ms=FIRST_MS),
    ]


@pytest.mark.parametrize("older_copies", [False, True])
def test_data_in_front_of_what_the_cleaner_took_ends_as_its_own_copy_says(
    tmp_path: Path, lake: Path, *, older_copies: bool
) -> None:
    whole = _transactions()
    damaged = [_flipped(whole[0]), whole[2], *whole[4:]]  # and offset 7 was cleaned away
    copies: list[tuple[list[EncodedBatch], int | None]] = [
        (whole[:3], None),  # orders-0: it ends before the abort
        (whole, None),
        ([*whole[:3], *whole[4:]], 11),  # cleaned: had an abort been there, 5 were not
    ]
    first = [_write(tmp_path / f"first{at}", damaged, 0, 11, at) for at in range(len(copies))]
    second = [
        _write(tmp_path / f"second{at}", batches, 1, cleaner_offset, at)
        for at, (batches, cleaner_offset) in enumerate(copies)
    ]
    read = {**_READ, "older_copies": older_copies}
    for disks in (first, second):
        summary = ingested(disks, lake, isolation="read_committed", read=read)
    with_5 = {row["partition"] for row in read_table(lake, "records") if row["offset"] == 5}
    assert with_5 == {2}
    gaps = viewed(lake, "SELECT partition, cause FROM current_gaps")
    assert {gap["partition"] for gap in gaps if gap["cause"] == "quarantined"} == {0}
    (said,) = [line for line in summary.to_text().splitlines() if "end markers may be" in line]
    assert re.findall(r"orders-\d", said) == ["orders-0"]
    assert kinds(audited(lake)) == set()


def test_what_a_cleaned_copy_has_beside_its_log_says_nothing_of_aborts_that_the_cleaner_took(
    tmp_path: Path,
) -> None:
    # A cleaned copy fills the gap in part, and its index, which has no abort, is closed.
    whole, lake = _transactions(), tmp_path / "lake"
    damaged = [_flipped(whole[0]), whole[2], *whole[4:]]
    disks = [
        _write(tmp_path / "damaged", damaged, 0, 11),
        _write(tmp_path / "cleaned", [whole[0], whole[2], *whole[4:]], 1, 11),
        _write(tmp_path / "older", whole[:3], 2),
    ]
    snapshot = disks[1] / "orders-0" / f"{11:020}.snapshot"
    snapshot.write_bytes(producer_snapshot([ProducerEntry(7, last_offset=10)]))
    ingested(disks[0], lake, isolation="read_committed", read={"upper_bound": "log_end"})
    ingested(disks[1:], lake, isolation="read_committed", read={"upper_bound": "log_end"})
    assert 5 not in {row["offset"] for row in read_table(lake, "records")}


def test_a_sound_copy_fills_what_a_damaged_older_copy_hides_in_all_orders(
    tmp_path: Path, lake: Path
) -> None:
    given = written(orders(3), lambda number: [*_copies(tmp_path / str(number), number).values()])
    for disks in rounds(given):
        summary = ingested(disks, lake, read=_READ)
    assert "NOT recovered" not in summary.to_text()
    records = by_partition(lake, "records")
    for order in given:
        offsets = sorted(row["offset"] for row in records[order.partition])
        assert offsets == [*range(30)], order.calls
    assert viewed(lake, _GAPS) == []
    assert kinds(audited(lake)) == set()


def _plain(disk: Disk) -> list[Batch]:
    """The batches with records and without a transaction, of which others tell that they end."""
    return [batch for batch in disk.batches[:-1] if batch.rows and batch.producer_id < 0]


def _without(disk: Disk, chosen: Batch) -> Disk:
    segments = [[each for each in own if each != chosen] for own in disk.segments]
    return replace(disk, segments=segments)


def _damaged(folder: Path, chosen: Batch) -> bytes:
    """Flip a bit of a batch on a disk; return its bytes."""
    for path in sorted(folder.glob("*/*.log")):
        content, position = bytearray(path.read_bytes()), 0
        while position < len(content):
            offset, length = struct.unpack_from(">qi", content, position)
            stop = position + 12 + length
            if offset == (chosen.first if chosen.magic == 2 else chosen.rows[-1][0]):
                content[stop - 1] ^= 1
                path.write_bytes(content)
                return bytes(content[position:stop])
            position = stop
    raise AssertionError(f"{chosen} is not on the disk")


@pytest.mark.parametrize("seed", cases(range(8), telling={7}))
def test_damage_in_one_copy_of_a_log_is_kept_while_the_lake_lacks_what_it_hides(
    tmp_path: Path, lake: Path, seed: int
) -> None:
    random, models = Random(seed), random_copies(seed, 3)
    place = random.choice([at for at, disk in enumerate(models) if _plain(disk)])
    chosen, copies = random.choice(_plain(models[place])), [*models]
    models[place], hidden = _without(models[place], chosen), {offset for offset, *_ in chosen.rows}
    expected = set[object]().union(*(committed_rows(disk, to_end=True) for disk in models))
    contents = set[bytes]()

    def write(number: int) -> list[Path]:
        folder = tmp_path / str(number)
        disks = [write_disk(folder / str(at), copy, number) for at, copy in enumerate(copies)]
        contents.add(_damaged(disks[place], chosen))
        return disks

    given = written([(*calls, calls[-1]) for calls in random.sample(orders(3), 4)], write)
    (content,) = contents
    for disks in rounds(given):
        ingested(disks, lake, isolation="read_committed", read=_READ)
    records, quarantine = read_table(lake, "records"), read_table(lake, "quarantine")
    gaps = viewed(lake, "SELECT * FROM current_gaps")
    for calls, number, _ in given:
        own = [row for row in records if row["partition"] == number]
        rows = [(row["offset"], row["key"], row["value"]) for row in own]
        assert (len(rows), {*rows}) == (len(expected), expected), calls
        raws = [row["raw"] for row in quarantine if row["raw"] and row["partition"] == number]
        lacking = hidden - {row["offset"] for row in own}
        assert raws in ([[content]] if lacking else [[], [content]]), calls
        causes = {
            gap["cause"]
            for gap in gaps
            if gap["partition"] == number
            if hidden & {*range(gap["start_offset"], gap["next_offset"])}
        }
        assert causes <= {"quarantined"}, calls
    assert kinds(audited(lake)) == set()
