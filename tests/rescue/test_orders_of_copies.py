"""Random logs that are written, rolled and cleaned: all orders of their copies end alike."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, kinds
from support.cases import cases
from support.cleaned_logs import Disk, Row, committed_rows, random_copies, write_disk
from support.lakes import by_partition, ingested
from support.orders_of_copies import Calls, Order, orders, rounds, written
from support.views import viewed

_OLDER = {"older_copies": True}
_FEW: tuple[Calls, ...] = (((0,), (1,), (2,)), ((2,), (1,), (0,)), ((0, 1, 2),), ((1,), (0, 2)))


def _written(folder: Path, copies: Sequence[Disk], ways: Iterable[Calls]) -> list[Order]:
    def write(number: int) -> list[Path]:
        return [
            write_disk(folder / f"{number}-copy{at}", copy, number)
            for at, copy in enumerate(copies)
        ]

    return written(ways, write)


def _rows(lake: Path, given: Iterable[Order]) -> dict[Calls, list[Row]]:
    records = by_partition(lake, "records")
    return {
        order.calls: [(row["offset"], row["key"], row["value"]) for row in records[order.partition]]
        for order in given
    }


def _gap_offsets(lake: Path, given: Iterable[Order]) -> list[set[tuple[int, str]]]:
    """The offsets in gaps, each with its cause: where a gap is cut depends on the runs."""
    found: list[set[tuple[int, str]]] = [set() for _ in given]
    for row in viewed(lake, "SELECT * FROM current_gaps"):
        offsets = range(row["start_offset"], row["next_offset"])
        found[row["partition"]].update((offset, row["cause"]) for offset in offsets)
    return found


@pytest.mark.parametrize("seed", cases(range(20), telling={3}))
def test_all_orders_of_copies_of_a_dead_log_end_in_the_same_rows(
    tmp_path: Path, lake: Path, seed: int
) -> None:
    copies = random_copies(seed, 3)
    given = _written(tmp_path, copies, orders(3))
    expected = set[object]().union(*(committed_rows(disk, to_end=True) for disk in copies))
    for disks in rounds(given):
        read = {**_OLDER, "upper_bound": "log_end"}
        ingested(disks, lake, isolation="read_committed", read=read)
    for calls, rows in _rows(lake, given).items():
        assert (len(rows), {*rows}) == (len(expected), expected), calls
    assert kinds(audited(lake)) == set()


@pytest.mark.parametrize("seed", cases(range(40), telling={26}))
def test_all_orders_of_copies_of_a_log_end_in_the_same_rows_and_gaps(
    tmp_path: Path, lake: Path, seed: int
) -> None:
    copies = random_copies(seed, 3)
    given = _written(tmp_path, copies, orders(3))
    expected = set[object]().union(*map(committed_rows, copies))
    for disks in rounds(given):
        summary = ingested(disks, lake, isolation="read_committed", read=_OLDER)
        assert (summary.exit_code, summary.left_out) == (0, {}), summary.to_text()
    for calls, rows in _rows(lake, given).items():
        assert (len(rows), {*rows}) == (len(expected), expected), calls
    first, *others = _gap_offsets(lake, given)
    assert others == [first] * 12
    audit = audited(lake)
    assert audit.exit_code == 0, to_text(audit)


@pytest.mark.parametrize("seed", cases(range(20), telling={1}))
def test_copies_that_retention_has_cut_too_end_in_the_same_rows(
    tmp_path: Path, lake: Path, seed: int
) -> None:
    copies = random_copies(seed, 3)
    copies[1].cut(1)
    copies[2].cut(2)
    given = _written(tmp_path, copies, _FEW)
    expected = set[object]().union(*map(committed_rows, copies))
    for disks in rounds(given):
        ingested(disks, lake, isolation="read_committed", read=_OLDER)
    for calls, rows in _rows(lake, given).items():
        assert (len(rows), {*rows}) == (len(expected), expected), calls
    assert kinds(audited(lake)) <= {"missing"}


def _made_unreadable(disk: Path, random: Random) -> dict[Path, bytes]:
    """Compress some segments of a disk but the last, or leave links to nowhere in their place.

    Returns: what was in each of them.
    """
    *segments, _ = sorted(disk.glob("*/*.log"))
    chosen = {path: path.read_bytes() for path in segments if random.random() < 0.5}
    for path in chosen:
        path.unlink()
        if random.random() < 0.5:
            path.with_name(f"{path.name}.gz").write_bytes(b"compressed")
        else:
            path.symlink_to(disk / "nowhere")
    return chosen


def _mended(segments: Mapping[Path, bytes]) -> None:
    for path, content in segments.items():
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.gz").unlink(missing_ok=True)
        path.write_bytes(content)


@pytest.mark.parametrize("seed", cases(range(40), telling={5, 39}))
def test_segments_of_copies_that_are_readable_later_only_fill_what_they_left(
    tmp_path: Path, lake: Path, seed: int
) -> None:
    copies, random = random_copies(seed, 3), Random(seed)
    expected = set[object]().union(*map(committed_rows, copies))
    # Without the segment where a transaction begins nothing shows that it is open.
    decided = set[object]().union(*(committed_rows(copy, to_end=True) for copy in copies))
    given = _written(tmp_path, copies, _FEW)
    every = [disk for order in given for disk in order.disks]
    unreadable = [_made_unreadable(disk, random) for disk in every]
    for disks in rounds(given):
        summary = ingested(disks, lake, isolation="read_committed", read=_OLDER)
        assert summary.defects == {}
        assert kinds(audited(lake)) <= {"missing"}
    for calls, rows in _rows(lake, given).items():
        assert len(rows) == len({*rows}), calls
        assert {*rows} <= decided, calls
    for segments in unreadable:
        _mended(segments)
    ingested(every, lake, isolation="read_committed", read=_OLDER)
    for calls, rows in _rows(lake, given).items():
        assert len(rows) == len({*rows}), calls
        assert expected <= {*rows} <= decided, calls
    assert kinds(audited(lake)) == set()


def test_made_copies_have_what_a_compaction_leaves() -> None:
    # Without which the test above would prove little.
    copies = [disk for seed in range(40) for disk in random_copies(seed, 3)]
    batches = [batch for disk in copies for batch in disk.batches]
    assert {batch.magic for batch in batches} == {0, 1, 2}
    thinned = [batch for batch in batches if 0 < len(batch.rows) <= batch.last - batch.first]
    assert {batch.magic for batch in thinned} == {0, 1, 2}
    assert any(not batch.rows and not batch.is_marker for batch in batches)
    assert sum(disk.cleaner_offset is not None for disk in copies) > 60
