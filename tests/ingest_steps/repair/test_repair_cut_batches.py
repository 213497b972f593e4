"""A batch that the log start, or the end of what was taken, lies in is filled piece by piece."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.audits import audited, checked
from support.cases import cases
from support.encoder import (
    EncodedBatch,
    Partition,
    Record,
    Segment,
    write_checkpoint,
)
from support.lakes import ingested, read_table, row_versions
from support.made_logs import FIRST_MS, TOPIC_IDS, in_form, write_over
from support.transaction_logs import TransactionLog, commit, sent, write_log

_FORMS = ("v2", "v1", "v1_gzip", "v0_gzip")
_END = 25


def _batches(form: str, log: str) -> list[EncodedBatch]:
    """Batches of five records, or old messages; the values name the log."""
    made: list[EncodedBatch] = []
    for base in range(0, _END, 5):
        records = [
            Record(b"k", f"{log}{offset}".encode(), FIRST_MS + offset)
            for offset in range(base, base + 5)
        ]
        made += in_form(base, records, form)
    return made


def _disk(
    folder: Path,
    form: str = "v2",
    *,
    log: str = "a",
    damaged: Sequence[int] = (),
    log_start_offset: int | None = None,
    high_watermark: int = _END,
) -> Path:
    """A copy with damage in the batches that begin at some offsets; five messages are as one."""
    batches = _batches(form, log)
    partition = Partition(
        "orders",
        0,
        [Segment(0, batches)],
        topic_id=TOPIC_IDS["orders"],
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
    )
    write_over(folder, [partition], broker_id=int(folder.name))
    path = folder / "orders-0" / f"{0:020}.log"
    content, stop = bytearray(path.read_bytes()), 0
    offsets = range(0, _END, 1 if form in ("v0", "v1") else 5)
    for offset, batch in zip(offsets, batches, strict=True):
        stop += len(batch.data)
        content[stop - 1] ^= 0xFF * (offset // 5 * 5 in damaged)
    path.write_bytes(content)
    return folder


def _offsets(lake: Path) -> list[int]:
    rows = read_table(lake, "records")
    assert all(row["value"][1:] == str(row["offset"]).encode() for row in rows)
    return sorted(row["offset"] for row in rows)


def _pieces(lake: Path) -> list[tuple[int, int, int]]:
    """The rows of `batches` between offsets 10 and 15, with how many records they brought."""
    rows = read_table(lake, "batches")
    spans = [(row["base_offset"], row["last_offset"], row["row_count"]) for row in rows]
    return sorted(span for span in spans if 10 <= span[0] < 15)


def _is_explained(lake: Path) -> bool:
    return imbalances_of(lake) == [] and audited(lake).exit_code == 0


@pytest.mark.parametrize("form", cases(_FORMS, telling=["v2", "v1_gzip"]))
def test_damage_across_the_log_start_is_filled_from_a_whole_copy(tmp_path: Path, form: str) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", form, damaged=[10], log_start_offset=12), lake)
    assert standing_gaps(lake) == [
        StandingGap("orders", 0, 0, 12, "deleted"),
        StandingGap("orders", 0, 12, 15, "quarantined"),
    ]
    ingested(_disk(tmp_path / "2", form), lake)
    assert _offsets(lake) == list(range(_END))
    assert standing_gaps(lake) == []
    assert _is_explained(lake)


@pytest.mark.parametrize("form", cases(_FORMS, telling=["v2", "v1_gzip"]))
def test_damage_across_the_log_start_is_filled_from_that_on_with_the_same_log_start(
    tmp_path: Path, form: str
) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", form, damaged=[10], log_start_offset=12), lake)
    ingested(_disk(tmp_path / "2", form, log_start_offset=12), lake)
    assert _offsets(lake) == list(range(12, _END))
    assert standing_gaps(lake) == [StandingGap("orders", 0, 0, 12, "deleted")]
    assert _is_explained(lake)


@pytest.mark.parametrize("form", cases(_FORMS, telling=["v2", "v1_gzip"]))
def test_what_lies_below_a_log_start_comes_from_a_copy_that_still_has_it(
    tmp_path: Path, form: str
) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", form, log_start_offset=12), lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 0, 12, "deleted")]
    ingested(_disk(tmp_path / "2", form), lake)
    assert _offsets(lake) == list(range(_END))
    assert _is_explained(lake)


def test_pieces_of_a_batch_have_a_row_each_that_their_records_name(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", log_start_offset=12), lake)
    ingested(_disk(tmp_path / "2"), lake)
    assert _pieces(lake) == [(10, 11, 2), (12, 14, 3)]
    named = {row["offset"]: row["batch_base_offset"] for row in read_table(lake, "records")}
    assert [named[offset] for offset in range(10, 15)] == [10, 10, 12, 12, 12]
    counts = {row["record_count"] for row in read_table(lake, "batches")}
    assert counts == {5}


@pytest.mark.parametrize("form", cases(_FORMS, telling=["v2", "v1_gzip"]))
@pytest.mark.parametrize("is_given_along", [True, False])
def test_damage_across_an_earlier_high_watermark_is_filled(
    tmp_path: Path, form: str, is_given_along: bool
) -> None:
    lake = tmp_path / "lake"
    damaged = _disk(tmp_path / "1", form, damaged=[10], high_watermark=12)
    ingested(damaged, lake)
    if is_given_along:
        ingested(_disk(damaged, form, damaged=[10]), lake)
        assert {gap.cause for gap in standing_gaps(lake)} == {"quarantined"}
    ingested(_disk(tmp_path / "2", form), lake)
    assert _offsets(lake) == list(range(_END))
    assert standing_gaps(lake) == []
    assert _is_explained(lake)


def test_a_part_of_a_batch_is_not_completed_from_another_batch(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", damaged=[0, 5, 15], log_start_offset=12), lake)
    ingested(_disk(tmp_path / "2", log="b"), lake)
    assert _offsets(lake) == [12, 13, 14, *range(20, _END)]
    assert _is_explained(lake)


@pytest.mark.parametrize("high_watermark", [12, 14])
def test_a_copy_that_has_a_batch_above_its_high_watermark_does_not_fill_it(
    tmp_path: Path, high_watermark: int
) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", damaged=[10]), lake)
    ingested(_disk(tmp_path / "2", high_watermark=high_watermark), lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 10, 15, "quarantined")]


def test_a_repair_of_pieces_is_done_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "1", damaged=[10], log_start_offset=12), lake)
    whole = _disk(tmp_path / "2")
    ingested(whole, lake)
    before = row_versions(lake)
    ingested([tmp_path / "1", whole], lake)
    assert row_versions(lake) == before
    assert {str(row["resolution"]) for row in read_table(lake, "quarantine")} == {"None", "sibling"}


def test_a_disk_check_knows_what_was_below_the_log_start(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    cut, whole = _disk(tmp_path / "1", log_start_offset=12), _disk(tmp_path / "2")
    ingested(cut, lake)
    (check,) = checked(whole, lake)
    assert (check.report.equal, check.has_problem) == (13, False)
    ingested(whole, lake)
    checks = checked([cut, whole], lake)
    assert sorted(check.report.equal for check in checks) == [13, 25]
    assert not any(check.has_problem for check in checks)


def test_a_marker_below_the_log_start_still_ends_what_an_earlier_run_took(tmp_path: Path) -> None:
    log = TransactionLog.of([sent(), sent(1), commit(1), sent()])
    lake = tmp_path / "lake"
    write_log(tmp_path / "disk", log, [0], stop=6)
    ingested(tmp_path / "disk", lake)
    write_log(tmp_path / "disk", log, [0])
    write_checkpoint(tmp_path / "disk" / "log-start-offset-checkpoint", {("orders", 0): 8})
    ingested(tmp_path / "disk", lake)
    ends = {row["base_offset"]: row["control_type"] for row in read_table(lake, "batches")}
    assert ends[6] == "commit"
    assert standing_gaps(lake) == [StandingGap("orders", 0, 7, 8, "deleted")]
    assert _is_explained(lake)
