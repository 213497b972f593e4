"""Replicas that parted at an unclean election, in formats and of brokers without leader epochs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, checked
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
from support.lakes import ingested, retaken, versions
from support.made_logs import FIRST_MS, write_over
from support.views import viewed

_PLAIN = None
_FORMATS = [(0, _PLAIN), (1, _PLAIN), (0, Codec.GZIP), (1, Codec.SNAPPY), (2, Codec.NONE)]
_PARTITIONS = [*_FORMATS, (1, Codec.GZIP)]

Sizes = Sequence[int]


def _batches(
    text: str, start: int, sizes: Sizes, magic: int, codec: Codec | None
) -> list[EncodedBatch]:
    found: list[EncodedBatch] = []
    for size in sizes:
        offsets = range(start, start + size)
        records = [Record(None, b"%s-%d" % (text.encode(), n), FIRST_MS + n) for n in offsets]
        if magic == 2:  # of a broker that writes no leader epochs yet
            found.append(record_batch(start, records, Header(leader_epoch=-1)))
        elif codec is None:
            found += messages(start, records, magic)
        else:
            found.append(wrapper(start, records, magic, codec))
        start += size
    return found


def _place(magic: int, codec: Codec | None) -> str:
    """The partition that has logs of a format."""
    return f"orders-{_PARTITIONS.index((magic, codec))}"


def _replica(
    folder: Path,
    text: str,
    sizes: Sizes,
    formats: Iterable[tuple[int, Codec | None]] = _FORMATS,
    *,
    broker_id: int,
) -> Path:
    """Write a replica with a partition of each format.

    Offsets 0 to 29 are as on every broker, and from 30 on it has its own.
    """
    partitions = []
    for magic, codec in formats:
        batches = [
            *_batches("both", 0, [10, 10, 10], magic, codec),
            *_batches(text, 30, sizes, magic, codec),
        ]
        number = _PARTITIONS.index((magic, codec))
        partitions.append(Partition("orders", number, [Segment(0, batches)], leader_epochs=()))
    return write_over(folder, partitions, broker_id=broker_id)


@pytest.fixture
def disks(data: Path) -> tuple[Path, Path]:
    """Offsets 30 to 40 and 41 to 43 on the one broker, 30 to 38 on the other."""
    return (
        _replica(data / "b1", "long", [11, 3], broker_id=1),
        _replica(data / "b2", "short", [9], broker_id=2),
    )


def _texts(lake: Path) -> dict[str, dict[str, int]]:
    """Number of current records by text, of each partition."""
    found: dict[str, dict[str, int]] = {}
    for row in viewed(lake, 'SELECT partition, value FROM current_records ORDER BY "offset"'):
        own = found.setdefault(f"orders-{row['partition']}", {})
        text = row["value"].split(b"-")[0].decode()
        own[text] = own.get(text, 0) + 1
    return found


def _everywhere(**texts: int) -> dict[str, dict[str, int]]:
    return {_place(*each): texts for each in _FORMATS}


def test_replicas_that_differ_are_a_conflict_in_the_run_that_meets_them(
    disks: tuple[Path, Path], lake: Path, engine: Engine
) -> None:
    summary = ingested(disks, lake, engine=engine)
    assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (3, {})
    assert summary.to_text().count(", and no leader epoch shows which won") == len(_FORMATS)
    assert "same leader" not in summary.to_text()
    assert _texts(lake) == _everywhere(both=30, long=14)
    for number in range(len(_FORMATS)):
        rows = [row for row in conflict_rows(lake) if row["partition"] == number]
        assert {row["broker_id"] for row in rows} == {2}
        assert (rows[0]["base_offset"], rows[-1]["last_offset"]) == (30, 38)
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)


@pytest.mark.parametrize("order", ["long first", "short first"])
def test_a_replica_that_comes_later_is_not_spliced_to_another_one(
    disks: tuple[Path, Path], lake: Path, engine: Engine, order: str
) -> None:
    first, second = disks if order == "long first" else disks[::-1]
    assert ingested(first, lake, engine=engine).exit_code == 0
    before, texts = versions(lake)["records"], _texts(lake)
    checks = checked(second, lake)
    assert {exit_code([check]) for check in checks} == {3}
    assert len(checks) == len(_FORMATS)
    for _ in range(2):
        summary = ingested(second, lake, engine=engine)
        assert (summary.exit_code, summary.findings.of(FindingKind.SUPERSEDED)) == (3, [])
        reasons = summary.findings.reasons(FindingKind.REFUSED)
        for place in _everywhere():
            assert f"nothing is ingested from {second / place}" in reasons[place]
        assert (versions(lake)["records"], _texts(lake)) == (before, texts)
    assert ingested(first, lake, engine=engine).exit_code == 0
    assert imbalances_of(lake) == []


def test_a_retake_takes_the_other_replica_if_a_person_says_so(
    disks: tuple[Path, Path], lake: Path
) -> None:
    long, short = disks
    ingested(short, lake)
    ingested(long, lake)
    whole = Selection(is_whole=True)
    summary = retaken(lake, long, selection=whole, select={"topics": ["orders"]})
    assert (summary.exit_code, _texts(lake)) == (0, _everywhere(both=30, long=9))
    assert ingested(long, lake).exit_code == 0
    assert _texts(lake) == _everywhere(both=30, long=14)


def test_a_replica_that_is_only_longer_is_taken_on(data: Path, lake: Path) -> None:
    short = _replica(data / "b2", "same", [11], broker_id=2)
    long = _replica(data / "b1", "same", [11, 3], broker_id=1)
    for disk in (short, long, short):
        summary = ingested(disk, lake)
        assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (0, {})
    assert _texts(lake) == _everywhere(both=30, same=14)
    assert ingested([short, long], data / "lake").exit_code == 0
    assert conflict_rows(data / "lake") == []


def test_a_damaged_wrapper_beside_a_sound_one_is_no_conflict(data: Path, lake: Path) -> None:
    """Behind damage no batch tells where a wrapper begins; its messages do."""
    sizes, formats = [5, 5, 5], [(1, Codec.GZIP), (1, Codec.SNAPPY)]
    one = _replica(data / "b1", "same", sizes, formats, broker_id=1)
    two = _replica(data / "b2", "same", sizes, formats, broker_id=2)
    for magic, codec in formats:
        damaged = _batches("same", 35, [5], magic, codec)[0].data
        log = one / _place(magic, codec) / f"{0:020}.log"
        log.write_bytes(log.read_bytes().replace(damaged, damaged[:-1] + bytes([damaged[-1] ^ 1])))
    ingested([one, two], lake)
    assert conflict_rows(lake) == []
    assert _texts(lake) == {_place(*each): {"both": 30, "same": 15} for each in formats}


def test_a_wrapper_that_the_cleaner_made_smaller_is_no_conflict(data: Path, lake: Path) -> None:
    """No checkpoint says that a cleaner was there, as where a broker copied a cleaned log."""
    whole = _replica(data / "b1", "same", [11, 3], [(1, Codec.GZIP)], broker_id=1)
    cleaned = _replica(data / "b2", "same", [11, 3], [(1, Codec.GZIP)], broker_id=2)
    log = cleaned / _place(1, Codec.GZIP) / f"{0:020}.log"
    before = _batches("same", 30, [11], 1, Codec.GZIP)[0].data
    kept = [Record(None, b"same-%d" % n, FIRST_MS + n, (), n) for n in (30, 33, 39)]
    log.write_bytes(log.read_bytes().replace(before, wrapper(30, kept, 1, Codec.GZIP).data))
    for number, runs in enumerate(([[whole, cleaned]], [[whole], [cleaned]])):
        summaries = [ingested(run, data / f"lake{number}") for run in runs]
        assert [
            (found.exit_code, found.findings.reasons(FindingKind.REFUSED)) for found in summaries
        ] == [(0, {})] * len(runs)
        assert conflict_rows(data / f"lake{number}") == []
