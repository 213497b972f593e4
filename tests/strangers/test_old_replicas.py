"""Replicas that parted at an unclean election, in formats and of brokers without leader epochs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, checked
from support.conflicting_logs import conflict_rows
from support.elected_logs import current
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

_PLAIN = None
_FORMATS = [(0, _PLAIN), (1, _PLAIN), (0, Codec.GZIP), (1, Codec.SNAPPY), (2, Codec.NONE)]

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


def _replica(
    folder: Path, text: str, sizes: Sizes, magic: int, codec: Codec | None, *, broker_id: int
) -> Path:
    """Write a replica: offsets 0 to 29 as on every broker, and from 30 on its own."""
    batches = [
        *_batches("both", 0, [10, 10, 10], magic, codec),
        *_batches(text, 30, sizes, magic, codec),
    ]
    partition = Partition("orders", 0, [Segment(0, batches)], leader_epochs=())
    return write_over(folder, [partition], broker_id=broker_id)


@pytest.fixture(params=_FORMATS, ids=lambda found: f"v{found[0]}-{found[1]}")
def disks(request: pytest.FixtureRequest, data: Path) -> tuple[Path, Path]:
    """Offsets 30 to 40 and 41 to 43 on the one broker, 30 to 38 on the other."""
    magic, codec = request.param
    return (
        _replica(data / "b1", "long", [11, 3], magic, codec, broker_id=1),
        _replica(data / "b2", "short", [9], magic, codec, broker_id=2),
    )


def _texts(lake: Path) -> dict[str, int]:
    values = [value.split(b"-")[0].decode() for _, value in current(lake)]
    return {text: values.count(text) for text in dict.fromkeys(values)}


def test_replicas_that_differ_are_a_conflict_in_the_run_that_meets_them(
    disks: tuple[Path, Path], lake: Path, engine: Engine
) -> None:
    summary = ingested(disks, lake, engine=engine)
    assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (3, {})
    assert ", and no leader epoch shows which won" in summary.to_text()
    assert "same leader" not in summary.to_text()
    assert _texts(lake) == {"both": 30, "long": 14}
    rows = conflict_rows(lake)
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
    assert exit_code(checked(second, lake)) == 3
    for _ in range(2):
        summary = ingested(second, lake, engine=engine)
        assert (summary.exit_code, summary.findings.of(FindingKind.SUPERSEDED)) == (3, [])
        reason = summary.findings.reasons(FindingKind.REFUSED)["orders-0"]
        assert f"nothing is ingested from {second / 'orders-0'}" in reason
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
    assert (summary.exit_code, _texts(lake)) == (0, {"both": 30, "long": 9})
    assert ingested(long, lake).exit_code == 0
    assert _texts(lake) == {"both": 30, "long": 14}


@pytest.mark.parametrize(("magic", "codec"), _FORMATS)
def test_a_replica_that_is_only_longer_is_taken_on(
    data: Path, lake: Path, magic: int, codec: Codec | None
) -> None:
    short = _replica(data / "b2", "same", [11], magic, codec, broker_id=2)
    long = _replica(data / "b1", "same", [11, 3], magic, codec, broker_id=1)
    for disk in (short, long, short):
        summary = ingested(disk, lake)
        assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (0, {})
    assert _texts(lake) == {"both": 30, "same": 14}
    assert ingested([short, long], data / "lake").exit_code == 0
    assert conflict_rows(data / "lake") == []


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY])
def test_a_damaged_wrapper_beside_a_sound_one_is_no_conflict(
    data: Path, lake: Path, codec: Codec
) -> None:
    """Behind damage no batch tells where a wrapper begins; its messages do."""
    sizes = [5, 5, 5]
    one = _replica(data / "b1", "same", sizes, 1, codec, broker_id=1)
    two = _replica(data / "b2", "same", sizes, 1, codec, broker_id=2)
    damaged = _batches("same", 35, [5], 1, codec)[0].data
    log = one / "orders-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes().replace(damaged, damaged[:-1] + bytes([damaged[-1] ^ 1])))
    ingested([one, two], lake)
    assert conflict_rows(lake) == []
    assert _texts(lake) == {"both": 30, "same": 15}


def test_a_wrapper_that_the_cleaner_made_smaller_is_no_conflict(data: Path, lake: Path) -> None:
    """No checkpoint says that a cleaner was there, as where a broker copied a cleaned log."""
    whole = _replica(data / "b1", "same", [11, 3], 1, Codec.GZIP, broker_id=1)
    cleaned = _replica(data / "b2", "same", [11, 3], 1, Codec.GZIP, broker_id=2)
    log = cleaned / "orders-0" / f"{0:020}.log"
    before = _batches("same", 30, [11], 1, Codec.GZIP)[0].data
    kept = [Record(None, b"same-%d" % n, FIRST_MS + n, (), n) for n in (30, 33, 39)]
    log.write_bytes(log.read_bytes().replace(before, wrapper(30, kept, 1, Codec.GZIP).data))
    for number, runs in enumerate(([[whole, cleaned]], [[whole], [cleaned]])):
        summaries = [ingested(run, data / f"lake{number}") for run in runs]
        assert [
            (found.exit_code, found.findings.reasons(FindingKind.REFUSED)) for found in summaries
        ] == [(0, {})] * len(runs)
        assert conflict_rows(data / f"lake{number}") == []
