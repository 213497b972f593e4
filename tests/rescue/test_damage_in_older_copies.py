"""Damage in a copy from before a compaction: it is in quarantine once, whatever comes first."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
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
from support.lakes import ingested, read_table, retaken
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, write_over
from support.views import viewed

_READ = {"older_copies": True, "upper_bound": "log_end"}
_GAPS = "SELECT start_offset, next_offset, cause FROM current_gaps ORDER BY start_offset"


def _flipped(batch: EncodedBatch) -> EncodedBatch:
    content = bytearray(batch.data)
    content[-3] ^= 1
    return batch._replace(data=bytes(content))


def _write(
    folder: Path, batches: Sequence[EncodedBatch], broker_id: int, cleaner_offset: int | None = None
) -> Path:
    segments = [Segment(0, batches)]
    partition = Partition("orders", 0, segments, topic_id=TOPIC_IDS["orders"])
    write_over(folder, [partition], broker_id=broker_id)
    if cleaner_offset is not None:
        write_checkpoint(folder / "cleaner-offset-checkpoint", {("orders", 0): cleaner_offset})
    return folder


def _copies(tmp_path: Path) -> dict[str, Path]:
    """A cleaned disk, and two from before: one has a flipped bit in what the cleaner removed."""
    whole = made_batches("orders", 0, range(30))
    return {
        "cleaned": _write(tmp_path / "cleaned", [whole[0], *whole[4:]], 0, 30),
        "damaged": _write(
            tmp_path / "damaged", [whole[0], *map(_flipped, whole[1:2]), *whole[2:]], 1
        ),
        "sound": _write(tmp_path / "sound", whole, 2),
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


_CALLS = ["cleaned,damaged", "cleaned+damaged", "damaged+cleaned", "damaged,cleaned"]


@pytest.mark.parametrize("calls", _CALLS)
def test_a_flipped_bit_in_what_the_cleaner_removed_is_in_quarantine_and_no_compaction(
    tmp_path: Path, calls: str
) -> None:
    copies, lake = _copies(tmp_path), tmp_path / "lake"
    damaged = _flipped(made_batches("orders", 0, range(30))[1]).data
    codes = []
    for call in [*calls.split(","), "damaged", "cleaned+damaged"]:
        summary = ingested([copies[name] for name in call.split("+")], lake, read=_READ)
        codes += [(summary.exit_code, summary.defects)] if summary.defects else []
    assert "no loss" not in summary.to_text()
    assert "NOT recovered: 5 offsets hidden by damaged bytes" in summary.to_text()
    assert codes == [(3, {"crc_mismatch": 1})]
    assert _quarantined(lake) == [("crc_mismatch", hashlib.sha256(damaged).hexdigest())]
    assert viewed(lake, _GAPS) == [{"start_offset": 5, "next_offset": 10, "cause": "quarantined"}]
    assert len(read_table(lake, "records")) == 25
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
@pytest.mark.parametrize("copy", ["older", "whole", "cleaned"])
def test_data_in_front_of_what_the_cleaner_took_ends_as_its_own_copy_says(
    tmp_path: Path, copy: str, *, older_copies: bool
) -> None:
    whole, lake = _transactions(), tmp_path / "lake"
    damaged = [_flipped(whole[0]), whole[2], *whole[4:]]  # and offset 7 was cleaned away
    batches, cleaner_offset = {
        "older": (whole[:3], None),  # it ends before the abort
        "whole": (whole, None),
        "cleaned": ([*whole[:3], *whole[4:]], 11),  # had an abort been there, 5 were not
    }[copy]
    disks = [
        _write(tmp_path / "damaged", damaged, 0, 11),
        _write(tmp_path / copy, batches, 1, cleaner_offset),
    ]
    read = {**_READ, "older_copies": older_copies}
    for disk in disks:
        summary = ingested(disk, lake, isolation="read_committed", read=read)
    offsets = {row["offset"] for row in read_table(lake, "records")}
    assert (5 in offsets) is (copy == "cleaned")
    in_gaps = {gap["cause"] for gap in viewed(lake, _GAPS)}
    assert ("quarantined" in in_gaps) is (copy == "older")
    assert ("their end markers may be missing" in summary.to_text()) is (copy == "older")
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


def _orders(names: Sequence[str]) -> list[list[list[str]]]:
    """All ways to give copies: one call after the other, each with one copy or several."""
    found = []
    for order in permutations(names):
        for cuts in range(1 << (len(order) - 1)):
            calls = [[order[0]]]
            for place, name in enumerate(order[1:]):
                if cuts >> place & 1:
                    calls.append([name])
                else:
                    calls[-1].append(name)
            if all(call == sorted(call) for call in calls):  # within one call all are alike
                found.append(calls)
    return found


def test_a_sound_copy_fills_what_a_damaged_older_copy_hides_in_all_orders(tmp_path: Path) -> None:
    copies = _copies(tmp_path)
    for number, calls in enumerate(_orders([*copies])):
        lake = tmp_path / f"lake{number}"
        for call in calls:
            summary = ingested([copies[name] for name in call], lake, read=_READ)
        assert "NOT recovered" not in summary.to_text(), calls
        offsets = [row["offset"] for row in read_table(lake, "records")]
        assert sorted(offsets) == [*range(30)], calls
        assert viewed(lake, _GAPS) == [], calls
        assert kinds(audited(lake)) == set(), calls


def _plain(disk: Disk) -> list[Batch]:
    """The batches with records and without a transaction, of which others tell that they end."""
    return [batch for batch in disk.batches[:-1] if batch.rows and batch.producer_id < 0]


def _with_damage(folder: Path, disk: Disk, random: Random) -> tuple[Disk, bytes, set[int]]:
    """Flip a bit of a batch on a disk; what is left of the model, the bytes and their offsets."""
    chosen = random.choice(_plain(disk))
    for path in sorted(folder.glob("orders-0/*.log")):
        content, position = bytearray(path.read_bytes()), 0
        while position < len(content):
            offset, length = struct.unpack_from(">qi", content, position)
            stop = position + 12 + length
            if offset == (chosen.first if chosen.magic == 2 else chosen.rows[-1][0]):
                content[stop - 1] ^= 1
                path.write_bytes(content)
                segments = [[each for each in own if each != chosen] for own in disk.segments]
                left = replace(disk, segments=segments)
                return left, bytes(content[position:stop]), {offset for offset, *_ in chosen.rows}
            position = stop
    raise AssertionError(f"{chosen} is not on the disk")


@pytest.mark.parametrize("seed", cases(range(8), telling={7}))
def test_damage_in_one_copy_of_a_log_is_kept_while_the_lake_lacks_what_it_hides(
    tmp_path: Path, seed: int
) -> None:
    random, models = Random(seed), random_copies(seed, 3)
    disks = {str(at): write_disk(tmp_path / f"copy{at}", each) for at, each in enumerate(models)}
    place = random.choice([at for at, disk in enumerate(models) if _plain(disk)])
    models[place], content, hidden = _with_damage(disks[str(place)], models[place], random)
    expected = set[object]().union(*(committed_rows(disk, to_end=True) for disk in models))
    for number, calls in enumerate(random.sample(_orders([*disks]), 4)):
        lake = tmp_path / f"lake{number}"
        for call in [*calls, *calls[-1:]]:
            ingested([disks[name] for name in call], lake, isolation="read_committed", read=_READ)
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert (len(rows), {*rows}) == (len(expected), expected), calls
        raws = [row["raw"] for row in read_table(lake, "quarantine") if row["raw"]]
        lacking = hidden - {row["offset"] for row in read_table(lake, "records")}
        assert raws in ([[content]] if lacking else [[], [content]]), calls
        in_gaps = {
            (offset, gap["cause"])
            for gap in viewed(lake, _GAPS)
            for offset in range(gap["start_offset"], gap["next_offset"])
            if offset in hidden
        }
        assert {cause for _, cause in in_gaps} <= {"quarantined"}, calls
        assert kinds(audited(lake)) == set(), calls
