"""An older copy of a log brings nothing; one that was wiped or made again is not mixed with it."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.replica_conflicts import log_check
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.log_dirs.batch_search import BatchRequest, find_batches
from support.accounts import imbalances_of
from support.cases import cases
from support.encoder import (
    EncodedBatch,
    Partition,
    Record,
    Segment,
    write_checkpoint,
)
from support.found import NOT_INGESTED_YET
from support.lakes import ingested, read_table, row_versions
from support.made_logs import TOPIC_IDS, in_form, made_segments, write_over
from support.taken import gaps_taken, is_nothing_new, offsets_taken

_FORMS = ("v2", "v2_epoch", "v1", "v1_gzip", "v0", "v0_gzip")
_ID, _OTHER_ID = TOPIC_IDS["orders"], TOPIC_IDS["orders again"]
_OTHERS = Partition("payments", 0, made_segments("payments", 0, [0, 10]))


def _records(log: str, start: int, stop: int) -> list[Record]:
    return [
        Record(None, f"{log}@{offset}".encode(), 1_700_000_000_000 + offset)
        for offset in range(start, stop)
    ]


def _batches(log: str, start: int, stop: int, form: str = "v2") -> list[EncodedBatch]:
    """Batches of five records; which log they are of is seen in the values alone."""
    made: list[EncodedBatch] = []
    for base in range(start, stop, 5):
        records = _records(log, base, min(base + 5, stop))
        epoch = base // 10 if form == "v2_epoch" else 0
        made += in_form(base, records, form.removesuffix("_epoch"), leader_epoch=epoch)
    return made


def _log(
    log: str,
    edges: Sequence[int],
    form: str = "v2",
    *,
    topic_id: uuid.UUID | None = None,
    log_start_offset: int | None = None,
) -> Partition:
    segments = [
        Segment(start, _batches(log, start, stop, form), index_interval_bytes=200)
        for start, stop in pairwise(edges)
    ]
    return Partition("orders", 0, segments, topic_id=topic_id, log_start_offset=log_start_offset)


def _taken(partition: Partition, data: Path, lake: Path, **sections: Any) -> IngestSummary:
    write_over(data, [partition, _OTHERS])
    return ingested(data, lake, **sections)


def _logs_in(lake: Path) -> set[str]:
    rows = [row for row in read_table(lake, "records") if row["topic"] == "orders"]
    return {row["value"].decode().partition("@")[0] for row in rows}


def _notes(summary: IngestSummary) -> list[str]:
    return [note for note in summary.notes if note.startswith("orders-")]


def _every(
    log: str, all_edges: Sequence[Sequence[int]], topic_id: uuid.UUID | None = None
) -> list[Partition]:
    """A partition for each format and each of the edges."""
    made = [_log(log, edges, form, topic_id=topic_id) for form in _FORMS for edges in all_edges]
    return [replace(partition, partition=number) for number, partition in enumerate(made)]


_SHORTER = [[0, 20], [0, 15], [0, 20, 30], [0, 20, 20], [0, 5]]


@pytest.mark.parametrize("topic_id", [None, _ID], ids=["no_id", "id"])
def test_an_older_copy_brings_nothing_new_and_is_named(
    topic_id: uuid.UUID | None, data: Path, lake: Path
) -> None:
    write_over(data, _every("first", [[0, 20, 40]] * len(_SHORTER), topic_id))
    ingested(data, lake)
    before = row_versions(lake)
    write_over(data, _every("first", _SHORTER, topic_id))
    summary = ingested(data, lake)
    assert is_nothing_new(summary)
    assert row_versions(lake) == before
    # Where the id is known nobody looks into the log, and its broker's file knows epoch 0 alone.
    doubtful = ["v2_epoch"] if topic_id else []
    *notes, of_all = sorted(summary.notes, key=lambda note: "partitions end below" in note)
    assert sorted(note.partition(" is ")[2] for note in notes) == sorted(
        f"{edges[-1]} and the lake covers up to 40: an older or lagging replica, or one that lost "
        "an election, nothing is ingested above"
        for _ in doubtful
        for edges in _SHORTER
    )
    count = (len(_FORMS) - len(doubtful)) * len(_SHORTER)
    assert of_all.startswith(f"{count} partitions end below what the lake covers (older or lagging")


_REFILLED = [[0, 15], [0, 20], [0, 40], [0, 20, 40], [0, 20, 35, 60], [0, 63]]
_INSIDE_A_BATCH = replace(_log("second", [0, 7]), partition=99)


def test_a_log_that_was_wiped_and_filled_again_is_refused_and_the_others_go_on(
    data: Path, lake: Path, tmp_path: Path
) -> None:
    old = _every("first", [[0, 20, 40]] * len(_REFILLED))
    write_over(data, [*old, replace(old[0], partition=99), _OTHERS])
    ingested(data, lake)
    more = replace(_OTHERS, segments=made_segments("payments", 0, [0, 10, 20]))
    write_over(data, [*_every("second", _REFILLED), _INSIDE_A_BATCH, more])
    summary = ingested(data, lake)
    assert summary.exit_code == 3
    assert set(summary.findings.reasons(FindingKind.REFUSED)) == {
        f"orders-{number}" for number in (*range(len(old)), 99)
    }
    assert summary.findings.of(*NOT_INGESTED_YET) == []
    assert _notes(summary) == []
    assert offsets_taken(lake, "payments") == list(range(20))
    assert offsets_taken(lake) == sorted((len(old) + 1) * list(range(40)))
    assert _logs_in(lake) == {"first"}
    assert imbalances_of(lake) == []

    again = ingested(data, lake)
    assert (again.exit_code, again.planned.tasks, again.findings.reasons(FindingKind.REFUSED)) == (
        3,
        0,
        summary.findings.reasons(FindingKind.REFUSED),
    )
    assert is_nothing_new(ingested(data, lake, select={"topics": ["!orders"]}))
    other = tmp_path / "other"
    assert ingested(data, other).exit_code == 0
    assert _logs_in(other) == {"second"}


@pytest.mark.parametrize(
    ("end", "is_flipped_first"),
    cases([*product([40, 60], [True, False])], telling=[(40, True), (60, False)]),
)
def test_a_flipped_leader_epoch_makes_no_other_log(
    end: int, is_flipped_first: bool, data: Path, lake: Path
) -> None:
    """No checksum covers it."""
    flipped = write_over(data / "flipped", [_log("first", [0, 40])], broker_id=1)
    clean = write_over(data / "clean", [_log("first", [0, end])], broker_id=2)
    log = flipped / "orders-0" / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    last = len(content) - len(_batches("first", 35, 40)[0].data)
    content[last + 13] ^= 0x40  # of four bytes behind offset and length
    log.write_bytes(content)
    order = [flipped, clean] if is_flipped_first else [clean, flipped]
    for disk in order:
        summary = ingested(disk, lake)
        assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (0, {})
    assert offsets_taken(lake) == list(range(end))


def test_a_refusal_says_what_was_expected_what_is_there_and_what_to_do(
    data: Path, lake: Path
) -> None:
    _taken(_log("first", [0, 40], "v2_epoch"), data, lake)
    summary = _taken(_log("second", [0, 60]), data, lake)
    text = summary.to_text()
    crcs = {
        log: batch.data[17:21].hex()
        for log in ("first", "second")
        for batch in _batches(log, 35, 40)
    }
    assert "refused: orders-0: the lake has the batch at offset 35" in text
    assert f"checksum 0x{crcs['first']} and leader epoch 3" in text
    assert f"the disk has the batch at offset 35 with checksum 0x{crcs['second']}" in text
    assert str(data / "orders-0") in text
    assert "another lake" in text
    assert "--topics '!orders'" in text


@pytest.mark.parametrize("end", cases([30, 40, 60], telling=[30, 60]))
def test_a_log_made_again_with_another_id_starts_anew_whatever_it_holds(
    end: int, data: Path, lake: Path
) -> None:
    _taken(_log("first", [0, 40], topic_id=_ID), data, lake)
    summary = _taken(_log("second", [0, end], topic_id=_OTHER_ID), data, lake)
    assert (summary.exit_code, summary.records, _notes(summary)) == (0, end, [])
    assert _logs_in(lake) == {"first", "second"}
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("ids", [(None, _ID), (_ID, None)], ids=["named_later", "named_before"])
@pytest.mark.parametrize("is_same", [True, False], ids=["same", "other"])
def test_where_the_id_is_known_on_one_side_the_batches_decide(
    is_same: bool, ids: tuple[uuid.UUID | None, uuid.UUID | None], data: Path, lake: Path
) -> None:
    _taken(_log("first", [0, 40], topic_id=ids[0]), data, lake)
    log = "first" if is_same else "second"
    summary = _taken(_log(log, [0, 60], topic_id=ids[1]), data, lake)
    assert (summary.exit_code, summary.records) == ((0, 20) if is_same else (3, 0))
    assert _logs_in(lake) == {"first"}


def test_another_log_of_another_broker_without_an_id_is_refused(data: Path, lake: Path) -> None:
    _taken(_log("first", [0, 40], topic_id=_ID), data, lake)
    summary = ingested(write_over(data, [_log("second", [0, 60])], broker_id=1), lake)
    assert (summary.exit_code, summary.records) == (3, 0)
    assert _logs_in(lake) == {"first"}


def test_a_partition_that_was_not_named_belongs_to_the_first_id_of_its_topic(
    data: Path, lake: Path
) -> None:
    """Only partition 0 was taken after its brokers had begun to write ids, then all is new."""
    second = [replace(_log("first", [0, end]), partition=1) for end in (20, 30)]
    write_over(data, [_log("first", [0, 20]), second[0]])
    ingested(data, lake)
    write_over(data, [_log("first", [0, 30], topic_id=_ID), replace(second[0], topic_id=_ID)])
    assert ingested(data, lake).records == 10
    again = [replace(_log("second", [0, 5]), partition=n, topic_id=_OTHER_ID) for n in (0, 1)]
    write_over(data, again)
    summary = ingested(data, lake)
    assert (summary.exit_code, summary.records) == (0, 10)
    assert imbalances_of(lake) == []


_ELECTED = [*_batches("first", 0, 30), *_batches("second", 30, 60)]


@pytest.mark.parametrize("topic_id", [None, _ID], ids=["no_id", "id"])
def test_rows_that_lost_an_election_stay_and_the_log_is_taken_on(
    topic_id: uuid.UUID | None, data: Path, lake: Path
) -> None:
    _taken(_log("first", [0, 40], topic_id=topic_id), data, lake)
    elected = Partition("orders", 0, [Segment(0, _ELECTED)], topic_id=topic_id)
    summary = _taken(elected, data, lake)
    assert (summary.exit_code, summary.records) == (0, 20)
    assert offsets_taken(lake) == list(range(60))
    (note,) = _notes(summary)
    assert "An election has gone against rows that were ingested before" in note
    values = {row["offset"]: row["value"] for row in read_table(lake, "records")}
    assert values[39] == b"first@39"
    assert values[40] == b"second@40"
    assert imbalances_of(lake) == []


def _struck(batch: EncodedBatch, position: int) -> EncodedBatch:
    data = bytearray(batch.data)
    data[position] ^= 0x40
    return batch._replace(data=bytes(data))


@pytest.mark.parametrize(
    ("end", "position"),  # of the checksum, a timestamp, a record
    cases([*product([40, 60], [18, 30, 65])], telling=[(40, 18), (60, 65)]),
)
def test_damage_to_the_batch_that_was_taken_last_is_no_other_log(
    end: int, position: int, data: Path, lake: Path
) -> None:
    _taken(_log("first", [0, 40]), data, lake)
    batches = _batches("first", 0, end)
    batches[7] = _struck(batches[7], position)
    summary = _taken(Partition("orders", 0, [Segment(0, batches)]), data, lake)
    assert summary.findings.reasons(FindingKind.REFUSED) == {}
    assert offsets_taken(lake) == list(range(end))


def test_a_log_that_begins_above_what_was_taken_is_taken_on(data: Path, lake: Path) -> None:
    _taken(_log("first", [0, 40]), data, lake)
    summary = _taken(_log("first", [50, 60]), data, lake)
    assert (summary.exit_code, summary.records) == (0, 10)
    assert gaps_taken(lake) == [(40, 50, "deleted")]


def test_an_empty_log_below_what_was_taken_is_named(data: Path, lake: Path) -> None:
    _taken(_log("first", [0, 40]), data, lake)
    summary = _taken(_log("first", [0, 0]), data, lake)
    assert is_nothing_new(summary)
    (note,) = _notes(summary)
    assert "its log ends at 0 and the lake covers up to 40" in note


def test_what_was_quarantined_or_never_taken_tells_nothing_of_an_older_copy(
    data: Path, lake: Path
) -> None:
    batches = _batches("first", 0, 40)
    batches[3] = _struck(batches[3], 65)
    _taken(Partition("orders", 0, [Segment(0, batches)]), data, lake)
    summary = _taken(_log("first", [0, 20]), data, lake)
    assert summary.findings.reasons(FindingKind.REFUSED) == {}
    assert "an older or lagging replica" in _notes(summary)[0]


def test_a_window_of_a_log_is_compared_as_well(data: Path, lake: Path) -> None:
    window = {"from_timestamp": "2023-11-14T22:13:20.020Z"}
    _taken(_log("first", [0, 40]), data, lake, select=window)
    assert min(offsets_taken(lake)) == 20
    assert _taken(_log("second", [0, 60]), data, lake).exit_code == 3
    assert _taken(_log("first", [0, 60]), data, lake).exit_code == 0
    assert offsets_taken(lake) == list(range(60))
    assert _logs_in(lake) == {"first"}


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[BatchRequest]:
    """What a run looks for on the disks."""
    seen: list[BatchRequest] = []

    def recorded(requests: tuple[BatchRequest, ...]) -> list[object]:
        seen.extend(requests)
        return list(find_batches(requests))

    monkeypatch.setattr(log_check, "find_batches", recorded)
    return seen


def test_a_rerun_looks_into_logs_without_ids_only_and_there_into_one_segment(
    searched: list[BatchRequest], data: Path, lake: Path
) -> None:
    named = replace(_log("first", [0, 20, 40], topic_id=_ID), topic="payments")
    write_over(data, [_log("first", [0, 20, 40]), named])
    ingested(data, lake)
    assert searched == []
    assert is_nothing_new(ingested(data, lake))
    assert [(each.file.name, each.offset) for each in searched] == [(f"orders-0/{20:020d}.log", 35)]


def test_many_partitions_are_compared_by_the_engine(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_check, "_MOST_INLINE", 2)
    monkeypatch.setattr(log_check, "_TASK_REQUESTS", 2)

    def disk(log: str, end: int) -> list[Partition]:
        return [replace(_log(log, [0, end]), partition=number) for number in range(5)]

    write_over(data, disk("first", 20))
    ingested(data, lake)
    write_over(data, [*disk("first", 25)[:3], *disk("second", 25)[3:]])
    summary = ingested(data, lake)
    assert sorted(summary.findings.reasons(FindingKind.REFUSED)) == ["orders-3", "orders-4"]
    assert summary.records == 15


def test_a_batch_below_the_cleaners_checkpoint_may_differ(data: Path, lake: Path) -> None:
    _taken(_log("first", [0, 40]), data, lake)
    write_over(data, [_log("second", [0, 60])])
    write_checkpoint(data / "cleaner-offset-checkpoint", {("orders", 0): 50})
    assert ingested(data, lake).exit_code == 0
    write_checkpoint(data / "cleaner-offset-checkpoint", {("orders", 0): 10})
    write_over(data, [_log("third", [0, 80])])
    assert ingested(data, lake).exit_code == 3
