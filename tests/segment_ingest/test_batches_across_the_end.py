"""Batches with offsets that were taken, and with some that were not: each offset is one batch's.

The cleaner makes a wrapper of the old formats anew around the messages that it keeps, so a run on a
cleaned disk may end inside a wrapper of another one; and another leader makes other batches.
"""

import uuid
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code
from support.accounts import imbalances_of, standing_gaps
from support.audits import audited, checked, kinds
from support.cases import cases
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    record_batch,
    wrapper,
    write_checkpoint,
)
from support.lakes import Row, ingested, read_table, retaken
from support.made_logs import FIRST_MS, TOPIC_IDS, write_over
from support.taken import offsets_taken

_KEPT = (0, 3, 7)  # of the ten messages in a wrapper


def _records(offsets: Iterable[int], magic: int) -> list[Record]:
    """Magic 0 knows no time, and a cleaner that writes it as magic 2 puts -1."""
    times = {offset: FIRST_MS + offset if magic else -1 for offset in offsets}
    return [Record(b"k%d" % o, b"v%d" % o, time, offset=o) for o, time in times.items()]


def _wrapped(offsets: Iterable[int], magic: int) -> EncodedBatch:
    records = _records(offsets, magic)
    return wrapper(records[0].offset or 0, records, magic, Codec.GZIP)


def _write(
    folder: Path, batches: list[EncodedBatch], cleaner_offset: int, broker_id: int = 0
) -> Path:
    write_over(folder, [Partition("orders", 0, [Segment(0, batches)])], broker_id=broker_id)
    if cleaner_offset:
        write_checkpoint(folder / "cleaner-offset-checkpoint", {("orders", 0): cleaner_offset})
    return folder


def _spans(lake: Path) -> list[tuple[int, int, int]]:
    rows: list[Row] = read_table(lake, "batches")
    return sorted((row["base_offset"], row["last_offset"], row["row_count"]) for row in rows)


@pytest.mark.parametrize("is_made_new", [False, True], ids=["old format", "cleaned into magic 2"])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_whole_wrapper_across_the_end_of_a_cleaned_one_accounts_for_what_is_new(
    magic: int, is_made_new: bool, data: Path, lake: Path
) -> None:
    cleaned = record_batch(0, _records(_KEPT, magic)) if is_made_new else _wrapped(_KEPT, magic)
    _write(data, [cleaned], 8, broker_id=1)
    ingested(data, lake)
    whole = [_wrapped(range(10), magic), _wrapped(range(10, 20), magic)]
    summary = ingested(_write(data, whole, 0, broker_id=2), lake)
    assert (
        summary.exit_code,
        summary.findings.reasons(FindingKind.REFUSED),
        summary.counts.quarantined,
    ) == (0, {}, 0)
    assert offsets_taken(lake) == [*_KEPT, *range(8, 20)]
    assert [gap.cause for gap in standing_gaps(lake)] == []
    assert imbalances_of(lake) == []
    assert [partition.problems for partition in audited(lake).partitions] == [()]
    assert _spans(lake) == [(0, 7, 3), (8, 9, 2), (10, 19, 10)]
    (check,) = checked(data, lake)
    assert (check.report.equal, check.report.left_out) == (15, {"rewritten by the cleaner": 5})
    assert exit_code([check]) == 0


def _led(epoch: int, edges: list[int]) -> list[EncodedBatch]:
    """Batches of a leader, whose name its values have."""
    return [
        record_batch(
            start,
            [Record(None, b"%d of %d" % (offset, epoch)) for offset in range(start, stop)],
            Header(leader_epoch=epoch),
        )
        for start, stop in pairwise(edges)
    ]


def _elected(folder: Path, stop: int, topic_id: uuid.UUID | None) -> Path:
    batches = [*_led(0, [0, 5, 10]), *_led(1, [10, 17, *range(24, stop + 1, 7)])]
    epochs = [(0, 0), (1, 10)]
    log = Partition("orders", 0, [Segment(0, batches)], leader_epochs=epochs, topic_id=topic_id)
    return write_over(folder, [log], broker_id=2)


@pytest.mark.parametrize("topic_id", cases([None, TOPIC_IDS["orders"]], telling=[None]))
def test_a_batch_that_won_an_election_over_what_was_taken_accounts_for_what_is_new(
    topic_id: uuid.UUID | None, data: Path, lake: Path
) -> None:
    lost = Partition("orders", 0, [Segment(0, _led(0, [0, 5, 10, 15, 20]))], topic_id=topic_id)
    ingested(write_over(data, [lost], broker_id=1), lake)
    for stop in (24, 24, 31, 38):
        summary = ingested(_elected(data, stop, topic_id), lake)
        assert summary.findings.reasons(FindingKind.REFUSED) == {}
        assert offsets_taken(lake) == list(range(stop))
        assert imbalances_of(lake) == []
        assert kinds(audited(lake)) == {"superseded"}
        assert exit_code(checked(data, lake)) == 3
    waiting = ingested(data, lake)
    assert (waiting.topics, waiting.exit_code) == ([], 3)
    spans = [(10, 14, 5), (15, 19, 5), (20, 23, 4), (24, 30, 7), (31, 37, 7)]
    assert _spans(lake) == [(0, 4, 5), (5, 9, 5), *spans]
    values = {row["offset"]: row["value"] for row in read_table(lake, "records")}
    assert (values[19], values[20]) == (b"19 of 0", b"20 of 1")
    older = ingested(_elected(data, 24, topic_id), lake)
    assert (older.findings.reasons(FindingKind.REFUSED), older.exit_code, offsets_taken(lake)) == (
        {},
        3,
        list(range(38)),
    )
    assert not [note for note in older.notes if "the disk has the batch" in note]
    assert retaken(lake, _elected(data, 38, topic_id)).exit_code == 0
    assert _spans(lake)[2:] == sorted([*spans, (10, 16, 7), (17, 19, 3)])
    assert (kinds(audited(lake)), imbalances_of(lake)) == (set(), [])
    assert exit_code(checked(data, lake)) == 0
