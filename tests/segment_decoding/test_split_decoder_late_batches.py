"""Batches that stand before lower ones: which offsets are believed, and by which run."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.accounts import imbalances_of
from support.cases import cases
from support.encoder import (
    Codec,
    EncodedBatch,
    Partition,
    Record,
    Segment,
    record_batch,
    wrapper,
    write_log_dir,
)
from support.lakes import Row, ingested, read_table
from support.made_logs import FIRST_MS, write_over
from support.taken import gaps_taken, offsets_taken

Span = tuple[int, int]


def _records(start: int, stop: int) -> list[Record]:
    return [Record(b"k", b"v%d" % number, FIRST_MS + number) for number in range(start, stop)]


def _batches(spans: Sequence[Span]) -> list[EncodedBatch]:
    return [record_batch(start, _records(start, stop)) for start, stop in spans]


def _run(
    tmp_path: Path,
    batches: Sequence[EncodedBatch],
    high_watermark: int,
    *,
    is_damage_ahead: bool = False,
) -> list[int]:
    """Ingest a disk that holds these batches; the offsets in the lake, whose accounts balance."""
    log = Partition("orders", 0, [Segment(0, list(batches))], high_watermark=high_watermark)
    write_over(tmp_path / "data", [log])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    needs_a_look = summary.counts.missing_offsets or summary.damaged or is_damage_ahead
    assert summary.exit_code == (3 if needs_a_look else 0)
    assert imbalances_of(tmp_path / "lake") == []
    return offsets_taken(tmp_path / "lake")


def _quarantine(tmp_path: Path) -> list[Row]:
    return read_table(tmp_path / "lake", "quarantine")


@pytest.mark.parametrize("high_watermark", [20, 25])
def test_an_early_batch_that_later_ones_prove_waits_for_the_run_that_wants_it(
    high_watermark: int, tmp_path: Path
) -> None:
    swapped = _batches([(0, 10), (20, 30), (10, 20)])
    assert _run(tmp_path, swapped, high_watermark) == list(range(20))
    assert _run(tmp_path, swapped, 30) == list(range(30))
    assert (_quarantine(tmp_path), gaps_taken(tmp_path / "lake")) == ([], [])


def test_an_early_batch_across_the_end_of_a_run_is_taken_whole_by_a_later_one(
    tmp_path: Path,
) -> None:
    swapped = _batches([(0, 10), (20, 30), (10, 20), (30, 40)])
    assert _run(tmp_path, swapped, 25) == list(range(20))
    assert _run(tmp_path, swapped, 40) == list(range(40))
    assert (_quarantine(tmp_path), gaps_taken(tmp_path / "lake")) == ([], [])


def test_a_proved_early_batch_is_taken_up_to_the_log_end(tmp_path: Path) -> None:
    log = Partition("orders", 0, [Segment(0, _batches([(0, 10), (20, 30), (10, 20)]))])
    write_log_dir(tmp_path / "data", [log])
    summary = ingested(tmp_path / "data", tmp_path / "lake", read={"upper_bound": "log_end"})
    assert (summary.records, summary.counts.quarantined) == (30, 0)


@pytest.mark.parametrize("high_watermark", cases([10, 15, 20, 25, 30, 40], telling=[10, 25, 40]))
def test_a_wrong_high_offset_is_rejected_once_whatever_is_wanted(
    high_watermark: int, tmp_path: Path
) -> None:
    batches = _batches([(0, 10), (1000, 1010), (20, 30), (30, 40)])  # the second one was 10 to 19
    _run(tmp_path, batches, high_watermark, is_damage_ahead=high_watermark == 10)
    assert _run(tmp_path, batches, 40) == [*range(10), *range(20, 40)]
    (row,) = _quarantine(tmp_path)
    assert (row["defect_code"], row["base_offset"]) == ("offset_out_of_segment", 1000)
    assert {cause for _, _, cause in gaps_taken(tmp_path / "lake")} == {"quarantined"}


def test_a_wrong_high_offset_beside_a_proved_early_batch_is_rejected_alone(tmp_path: Path) -> None:
    batches = _batches([(0, 10), (20, 30), (1000, 1010), (10, 20)])
    assert _run(tmp_path, batches, 20) == list(range(20))
    assert _run(tmp_path, batches, 30) == list(range(30))
    (row,) = _quarantine(tmp_path)
    assert row["base_offset"] == 1000


def test_damage_between_an_early_batch_and_a_wanted_late_one_is_recorded_with_it(
    tmp_path: Path,
) -> None:
    batches = _batches([(0, 10), (20, 30), (10, 15), (15, 20), (30, 40)])
    damaged = batches[2].data[:-1] + bytes([batches[2].data[-1] ^ 1])
    batches[2] = batches[2]._replace(data=damaged)
    assert _run(tmp_path, batches, 20) == [*range(10), *range(15, 20)]
    assert [row["defect_code"] for row in _quarantine(tmp_path)] == ["crc_mismatch"]
    assert gaps_taken(tmp_path / "lake") == [(10, 15, "quarantined")]


def test_a_copy_of_the_last_batch_is_recorded_by_the_run_that_takes_the_batch(
    tmp_path: Path,
) -> None:
    """Nothing may ever be added to the log, and then no later run would come to it."""
    assert _run(tmp_path, _batches([(0, 10), (10, 20), (10, 20)]), 20) == list(range(20))
    assert [row["defect_code"] for row in _quarantine(tmp_path)] == ["offset_out_of_order"]
    assert gaps_taken(tmp_path / "lake") == []


def test_wrappers_in_the_wrong_order_all_come_out(tmp_path: Path) -> None:
    spans = [(0, 10), (20, 30), (10, 20), (30, 40)]
    batches = [wrapper(start, _records(start, stop), 1, Codec.GZIP) for start, stop in spans]
    for high_watermark in (10, 20, 40):
        assert _run(tmp_path, batches, high_watermark) == list(range(high_watermark))
    assert _quarantine(tmp_path) == []


def test_the_first_batch_of_a_log_may_come_late(tmp_path: Path) -> None:
    assert _run(tmp_path, _batches([(10, 20), (0, 5), (20, 30)]), 30) == [*range(5), *range(10, 30)]
    assert gaps_taken(tmp_path / "lake") == [(5, 10, "missing")]


def test_the_first_batch_of_a_range_may_come_late(tmp_path: Path) -> None:
    swapped = _batches([(0, 10), (20, 30), (10, 20)])
    for high_watermark in (10, 30):
        assert _run(tmp_path, swapped, high_watermark) == list(range(high_watermark))
    assert gaps_taken(tmp_path / "lake") == []
