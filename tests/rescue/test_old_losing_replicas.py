"""Replicas that differ without leader epochs: what is not ingested is in quarantine."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.replica_conflicts import lake_batches
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited
from support.conflicting_logs import conflict_rows
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    messages,
    record_batch,
    wrapper,
)
from support.found import conflicts
from support.lakes import ingested
from support.losing_logs import DEAD
from support.made_logs import FIRST_MS, write_over
from support.reports import reported

_FORMS = [(0, None), (1, None), (0, Codec.GZIP), (1, Codec.SNAPPY), (2, Codec.NONE)]


def _batches(
    text: str, start: int, sizes: list[int], magic: int, codec: Codec | None
) -> list[EncodedBatch]:
    found: list[EncodedBatch] = []
    for size in sizes:
        offsets = range(start, start + size)
        records = [Record(b"k", b"%s-%d" % (text.encode(), n), FIRST_MS + n) for n in offsets]
        if magic == 2:
            found.append(record_batch(start, records, Header(leader_epoch=-1)))
        elif codec is None:
            found += messages(start, records, magic)
        else:
            found.append(wrapper(start, records, magic, codec))
        start += size
    return found


Raws = dict[int, list[bytes]]  # by partition


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, tuple[Path, Raws]]:
    """Return two brokers' disks, alike up to offset 30, and the batches that each alone has.

    Each form is a partition.
    """
    made = {}
    for broker_id, (text, sizes) in enumerate({"long": [11, 3], "short": [9]}.items()):
        own, partitions = dict[int, list[bytes]](), []
        for number, form in enumerate(_FORMS):
            end = _batches(text, 30, sizes, *form)
            batches = [*_batches("both", 0, [10, 10, 10], *form), *end]
            segments = [Segment(0, batches)]
            partitions.append(Partition("orders", number, segments, leader_epochs=()))
            own[number] = [batch.data for batch in end]
        made[text] = write_over(tmp_path / text, partitions, broker_id=broker_id), own
    return made


def _kept(lake: Path) -> Raws:
    found: Raws = {}
    for row in sorted(conflict_rows(lake), key=lambda row: row["base_offset"]):
        found.setdefault(row["partition"], []).append(row["raw"])
    return found


@pytest.mark.parametrize("order", [("long", "short"), ("short", "long")], ids="-".join)
def test_a_replica_that_comes_later_is_in_quarantine_as_in_one_run(
    order: tuple[str, str], logs: dict[str, tuple[Path, Raws]], lake: Path, engine: Engine
) -> None:
    first, second = order
    ingested(logs[first][0], lake, engine=engine, read=DEAD)
    disk, own = logs[second]
    summary = ingested(disk, lake, engine=engine, read=DEAD)
    refused = summary.findings.reasons(FindingKind.REFUSED)
    assert (summary.exit_code, sorted(refused)) == (3, [f"orders-{number}" for number in own])
    assert _kept(lake) == own
    assert "and no leader epoch shows which won" in summary.to_text()
    again = ingested(disk, lake, engine=engine, read=DEAD)
    assert (conflicts(again), _kept(lake)) == ({}, own)
    assert imbalances_of(lake) == []
    tails = [each.recovery.tails for each in (audited(lake), reported(lake))]
    assert tails[0] == tails[1] == summary.recovery.tails


def test_the_same_rows_come_in_one_run(
    logs: dict[str, tuple[Path, Raws]], tmp_path: Path, lake: Path
) -> None:
    (long, _), (short, own) = logs["long"], logs["short"]
    ingested([long, short], tmp_path / "together", read=DEAD)
    ingested(long, lake, read=DEAD)
    ingested(short, lake, read=DEAD)
    assert _kept(tmp_path / "together") == _kept(lake) == own


def test_up_to_the_high_watermark_a_refused_log_is_listed_by_no_run(
    logs: dict[str, tuple[Path, Raws]], lake: Path
) -> None:
    ingested(logs["short"][0], lake)
    disk, own = logs["long"]
    assert conflicts(ingested(disk, lake)) == {}
    assert _kept(lake) == {}
    planned = ingested(disk, lake, dry_run=True, read=DEAD)
    summary = ingested(disk, lake, read=DEAD)
    assert conflicts(planned) == conflicts(summary)
    assert _kept(lake) == own


def test_too_many_plain_messages_to_compare_are_refused_and_not_listed(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_batches, "MOST_MESSAGES", 38)
    for text in ("one", "other"):
        batches = [*_batches("both", 0, [30], 1, None), *_batches(text, 30, [9], 1, None)]
        partition = Partition("orders", 0, [Segment(0, batches)], leader_epochs=())
        summary = ingested(write_over(tmp_path / text, [partition]), lake, read=DEAD)
    assert (summary.exit_code, list(summary.findings.reasons(FindingKind.REFUSED))) == (
        3,
        ["orders-0"],
    )
    assert _kept(lake) == {}


def test_a_replica_that_is_only_longer_is_no_conflict(tmp_path: Path, lake: Path) -> None:
    for text, sizes in (("short", [9]), ("long", [9, 3])):
        batches = _batches("both", 0, sizes, 1, None)
        partition = Partition("orders", 0, [Segment(0, batches)], leader_epochs=())
        disk = write_over(tmp_path / text, [partition])
        assert ingested(disk, lake, read=DEAD).exit_code == 0
    assert conflict_rows(lake) == []
