"""Random logs that are written, rolled and cleaned: all orders of their copies end alike."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, kinds
from support.cases import cases
from support.cleaned_logs import committed_rows, random_copies, write_disk
from support.lakes import ingested, read_table
from support.views import viewed

_OLDER = {"older_copies": True}
_GAPS = "SELECT start_offset, next_offset, cause FROM current_gaps ORDER BY start_offset"


def _gap_offsets(lake: Path) -> frozenset[tuple[int, str]]:
    """The offsets in gaps, each with its cause: where a gap is cut depends on the runs."""
    return frozenset(
        (offset, row["cause"])
        for row in viewed(lake, _GAPS)
        for offset in range(row["start_offset"], row["next_offset"])
    )


def _orders(count: int) -> Iterator[list[list[int]]]:
    """All ways to give copies: one call after the other, each with one copy or several."""
    for order in permutations(range(count)):
        for cuts in range(1 << (count - 1)):
            calls = [[order[0]]]
            for place, copy in enumerate(order[1:]):
                if cuts >> place & 1:
                    calls.append([copy])
                else:
                    calls[-1].append(copy)
            if all(call == sorted(call) for call in calls):  # within one call all are alike
                yield calls


@pytest.mark.parametrize("seed", cases(range(20), telling={3}))
def test_all_orders_of_copies_of_a_dead_log_end_in_the_same_rows(tmp_path: Path, seed: int) -> None:
    copies = random_copies(seed, 3)
    disks = [write_disk(tmp_path / f"copy{index}", disk) for index, disk in enumerate(copies)]
    expected = set[object]().union(*(committed_rows(disk, to_end=True) for disk in copies))
    read = {**_OLDER, "upper_bound": "log_end"}
    for number, calls in enumerate(_orders(len(disks))):
        lake = tmp_path / f"lake{number}"
        for call in calls:
            sources = [disks[index] for index in call]
            ingested(sources, lake, isolation="read_committed", read=read)
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert (len(rows), {*rows}) == (len(expected), expected), calls
        assert kinds(audited(lake)) == set(), calls


@pytest.mark.parametrize("seed", cases(range(40), telling={26}))
def test_all_orders_of_copies_of_a_log_end_in_the_same_rows_and_gaps(
    tmp_path: Path, seed: int
) -> None:
    copies = random_copies(seed, 3)
    disks = [write_disk(tmp_path / f"copy{index}", disk) for index, disk in enumerate(copies)]
    expected = set[object]().union(*map(committed_rows, copies))
    gaps = set()
    for number, calls in enumerate(_orders(len(disks))):
        lake = tmp_path / f"lake{number}"
        for call in calls:
            sources = [disks[index] for index in call]
            summary = ingested(sources, lake, isolation="read_committed", read=_OLDER)
            assert (summary.exit_code, summary.left_out) == (0, {}), (calls, summary.to_text())
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert (len(rows), {*rows}) == (len(expected), expected), calls
        gaps.add(_gap_offsets(lake))
        audit = audited(lake)
        assert audit.exit_code == 0, (calls, to_text(audit))
    assert len(gaps) == 1


@pytest.mark.parametrize("seed", cases(range(20), telling={1}))
def test_copies_that_retention_has_cut_too_end_in_the_same_rows(tmp_path: Path, seed: int) -> None:
    copies = random_copies(seed, 3)
    copies[1].cut(1)
    copies[2].cut(2)
    disks = [write_disk(tmp_path / f"copy{index}", disk) for index, disk in enumerate(copies)]
    expected = set[object]().union(*map(committed_rows, copies))
    for number, calls in enumerate([[[0], [1], [2]], [[2], [1], [0]], [[0, 1, 2]], [[1], [0, 2]]]):
        lake = tmp_path / f"lake{number}"
        for call in calls:
            sources = [disks[index] for index in call]
            ingested(sources, lake, isolation="read_committed", read=_OLDER)
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert (len(rows), {*rows}) == (len(expected), expected), calls
        assert kinds(audited(lake)) <= {"missing"}, calls


def _made_unreadable(disk: Path, random: Random) -> dict[Path, bytes]:
    """Compress some segments of a disk but the last, or leave links to nowhere in their place.

    Returns: what was in each of them.
    """
    *segments, _ = sorted((disk / "orders-0").glob("*.log"))
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


@pytest.mark.parametrize("seed", cases(range(40), telling={39}))
def test_segments_of_copies_that_are_readable_later_only_fill_what_they_left(
    tmp_path: Path, seed: int
) -> None:
    copies, random = random_copies(seed, 3), Random(seed)
    expected = set[object]().union(*map(committed_rows, copies))
    # Without the segment where a transaction begins nothing shows that it is open.
    decided = set[object]().union(*(committed_rows(copy, to_end=True) for copy in copies))
    for number, calls in enumerate([[[0], [1], [2]], [[2], [1], [0]], [[0, 1, 2]], [[1], [0, 2]]]):
        lake = tmp_path / f"lake{number}"
        disks = [
            write_disk(tmp_path / f"copy{number}-{index}", disk)
            for index, disk in enumerate(copies)
        ]
        unreadable = [_made_unreadable(disk, random) for disk in disks]
        for call in calls:
            sources = [disks[index] for index in call]
            summary = ingested(sources, lake, isolation="read_committed", read=_OLDER)
            assert summary.defects == {}, calls
            assert kinds(audited(lake)) <= {"missing"}, calls
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert len(rows) == len({*rows}), calls
        assert {*rows} <= decided, calls
        for segments in unreadable:
            _mended(segments)
        ingested(disks, lake, isolation="read_committed", read=_OLDER)
        rows = [(row["offset"], row["key"], row["value"]) for row in read_table(lake, "records")]
        assert len(rows) == len({*rows}), calls
        assert expected <= {*rows} <= decided, calls
        assert kinds(audited(lake)) == set(), calls


def test_made_copies_have_what_a_compaction_leaves() -> None:
    # Without which the test above would prove little.
    copies = [disk for seed in range(40) for disk in random_copies(seed, 3)]
    batches = [batch for disk in copies for batch in disk.batches]
    assert {batch.magic for batch in batches} == {0, 1, 2}
    thinned = [batch for batch in batches if 0 < len(batch.rows) <= batch.last - batch.first]
    assert {batch.magic for batch in thinned} == {0, 1, 2}
    assert any(not batch.rows and not batch.is_marker for batch in batches)
    assert sum(disk.cleaner_offset is not None for disk in copies) > 60
