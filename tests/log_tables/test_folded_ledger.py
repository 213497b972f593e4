"""Folded rows answer as all rows do: random lives of a partition, every question."""

from random import Random
from typing import Any

import numpy as np
import pytest

from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.folded_ledger import Row, folded
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

_KEY = PartitionKey("orders", 0, "id")


class _Life:
    """Runs that ingest a growing log, repair gaps, lose elections and retake what they lost."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.rows: list[Row] = []
        self.start = self.end = 90
        self.old_end = 0  # of the log that the topic had under another id
        self.epoch = 0
        self.has_epochs = random.random() < 0.8  # else of message format v1

    def step(self) -> None:
        kinds = ["ingest", "older", "old log", "repair", "elect"]
        match self.random.choices(kinds, [30, 4, 4, 1, 1])[0]:
            case "ingest":
                self.ingest()
            case "older" if self.start > 9:  # as from a disk that was found later
                self.start -= 3
                self.add("ingest", self.start, self.start + 3, 0)
            case "old log":
                self.add("ingest", self.old_end, self.old_end + 3, 0)
                self.old_end += 3
                self.rows[-1]["topic_id"] = "old"
            case "repair":
                start = self.random.randrange(self.start, self.end)
                self.add("repair", start, self.random.randint(start + 1, self.end), None)
            case "elect" if self.end > self.start + 2:
                self._elect()

    def ingest(self) -> None:
        start = self.end + (self.random.random() < 0.05) * self.random.randint(1, 9)
        self.end = start + self.random.randint(1, 9)
        self.epoch += self.random.random() < 0.1
        self.add("ingest", start, self.end, self.epoch, has_batch=self.random.random() > 0.1)

    def _elect(self) -> None:
        start = self.random.randrange(max(self.start, self.end - 20), self.end)
        self.epoch += 1
        self.add("superseded", start, self.end, self.epoch)
        stop = self.random.randint(start, self.end)
        if start < stop:
            self.add("retake", start, stop, self.epoch)
        if stop < self.end:
            self.add("released", stop, self.end, None)
        self.end = max(stop, start)

    def add(
        self, kind: str, start: int, stop: int, epoch: int | None, *, has_batch: bool = True
    ) -> None:
        generation = (self.rows[-1]["generation"] if self.rows else 0) + 1
        if kind in ("retake", "released"):
            generation -= 1  # of the commit that supersedes
        has_batch &= epoch is not None
        epoch = epoch if has_batch and self.has_epochs else None
        self.rows.append(
            {
                "source_id": "cluster",
                "topic": "orders",
                "partition": 0,
                "topic_id": self.random.choice([None, "id"]) if generation < 4 else "id",
                "kind": kind,
                "start_offset": start,
                "next_offset": stop,
                "generation": generation,
                "isolation": "read_committed",
                "leader_epoch": epoch,
                "last_batch_base_offset": stop - 1 if has_batch else None,
                "last_batch_crc": 7 * stop if has_batch else None,
                "last_stable_offset": stop,
                "log_end_offset": stop + 5,
                "high_watermark": None,
                "upper_bound": "log_end",
                "attempt_id": f"attempt {generation}",
            }
        )


def _answers(rows: list[Row], gaps: list[tuple[int, str]], epochs: list[int]) -> dict[str, Any]:
    ledger = SourceLedger(rows)
    log = ledger.of(_KEY)
    ranges = log.covered
    stop = ranges[-1][1] + 3
    newest = max(row["generation"] for row in rows)
    places = [
        (offset, generation) for offset in range(0, stop, 3) for generation in range(newest + 2)
    ]
    offsets, generations = (np.array(column) for column in zip(*places, strict=True))
    copies = [
        leader_epochs_of([EpochStart(0, 0), EpochStart(epoch, 90 + epoch * 8)], stop)
        for epoch in epochs
    ]
    return {
        "isolation": ledger.isolations.get("orders"),
        "topics": ledger.topics,
        "partitions": ledger.partitions(),
        "id": ledger.latest_key("orders", 0).topic_id,
        "first id": ledger.joined_key(_KEY._replace(topic_id=None)),
        "ranges": ranges,
        "old ranges": ledger.of(_KEY._replace(topic_id="old")).covered,
        "current": log.current,
        "superseded": log.superseded,
        "are current": log.are_current(offsets, generations).tolist(),
        "until": [log.counts_until(*place) for place in places],
        "won": [log.won_from(epoch) for epoch in range(12)],
        "winner": log.winning_epoch,
        "frontier": log.frontier,
        "before": [log.stable_up_to(stop) for _, stop in ranges],
        "same": [log.same_log_until(copy, stop) for copy in copies],
        "lost": [log.lost_from(copy) for copy in copies],
        "gaps": [log.is_current_gap(*gap) for gap in gaps],
    }


@pytest.mark.parametrize("seed", range(25))
def test_folded_rows_answer_as_all_of_them_do(seed: int) -> None:
    random = Random(seed)
    life = _Life(random)
    life.ingest()
    known: list[Row] = []
    seen = 0
    for _ in range(60):
        life.step()
        if random.random() < 0.3:  # as each run folds what it knows and what is new
            known, seen = folded([*known, *life.rows[seen:]]), len(life.rows)
    known = folded([*known, *life.rows[seen:]])
    gaps = [
        (offset, row["attempt_id"])
        for row in life.rows
        if row["kind"] in ("ingest", "retake", "repair")
        for offset in range(row["start_offset"], row["next_offset"])
    ]
    epochs = [*range(1, 12)]
    assert _answers(known, gaps, epochs) == _answers(life.rows, gaps, epochs)
    assert len(known) < len(life.rows)


def test_rows_of_a_growing_log_do_not_grow_in_number() -> None:
    life = _Life(Random(1))
    for _ in range(300):
        life.add("ingest", life.end, life.end + 5, 3)
        life.end += 5
    rows = [row | {"topic_id": "id"} for row in life.rows]
    assert len(folded(rows)) == 4
    others = [row | {"partition": 1} for row in rows]
    assert len(folded([*rows, *others])) == 8
    assert SourceLedger(folded(rows)).of(_KEY).covered == [(90, 1590)]


def test_the_first_id_of_a_topic_stays_the_first() -> None:
    life = _Life(Random(1))
    for generation in (5, 6, 2, 7, 8, 9, 10):
        life.add("ingest", life.end, life.end + 5, 3)
        life.end += 5
        life.rows[-1] |= {"generation": generation, "topic_id": "id"}
    other = life.rows[0] | {"partition": 1, "topic_id": "new", "generation": 4}
    ledger = SourceLedger(folded([*life.rows, other]))
    assert ledger.joined_key(_KEY._replace(topic_id=None)) == _KEY


def test_last_batch_of_a_log_without_epochs_stays_behind_gaps() -> None:
    life = _Life(Random(1))
    for number in range(9):
        life.add("ingest", life.end, life.end + 5, 0, has_batch=number < 5)
        life.end += 5
    rows = [row | {"leader_epoch": None, "topic_id": "id"} for row in life.rows]
    assert SourceLedger(folded(rows)).of(_KEY).frontier == SourceLedger(rows).of(_KEY).frontier
