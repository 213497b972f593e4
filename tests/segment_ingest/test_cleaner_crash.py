"""Wherever a cleaner was stopped, its log is what it was before or after: no row twice, none lost.

Old and new segments are real: a broker left the old ones beside the new as `.deleted`, or they lie
in a copy of the disk from before. Each step of the exchange is done here one file at a time, in the
order of `LocalLog.replaceSegments` and then of `LogLoader`; each state between two steps becomes
a partition of one log dir.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from support import broker_disks
from support.accounts import imbalances_of
from support.encoder import write_checkpoint
from support.found import NOT_INGESTED_YET
from support.lakes import ingested, oracle_record, read_table
from support.oracle import Isolation, OracleRecord, expected_records

_KINDS = ("log", "index", "timeindex", "txnindex")  # in the order in which a segment's are renamed
_DELETED, _CLEANED, _SWAP = ".deleted", ".cleaned", ".swap"
_ALL = 1 << 62

_ISOLATION = Isolation.READ_COMMITTED

Records = list[OracleRecord]


class Source(NamedTuple):
    """A partition that was cleaned; `before` names the copy with the old segments, if they are not
    beside the new ones."""

    scenario: str
    after: str
    before: str | None
    topic: str


_SOURCES = [
    *(Source("05_compacted", "after", None, f"cmp-{name}") for name in ("v2", "v1", "txn")),
    *(
        Source("05_compacted", "after", "before", f"cmp-{name}")
        for name in ("v2-lz4", "v1-gzip", "v0-lz4")
    ),
    Source("13_legacy_in_4x", "after", "before", "old-v1"),  # the new segment is of another format
    Source("11_kraft", "stopped", None, "kr-cmp"),
]
# Formats 2 and 0, transactions, a new segment of another format than the old.
_TELLING = [_SOURCES[place] for place in (0, 2, 5, 6)]
_OTHERS = [source for source in _SOURCES if source not in _TELLING]


class Exchange(NamedTuple):
    """New files of one segment by kind, and the base offsets of the old ones they stand for."""

    base_offset: int
    files: dict[str, bytes]
    old: list[int]


class Cleaned(NamedTuple):
    """A log before the cleaner came, and what the cleaner will do."""

    folder: Path
    exchanges: list[Exchange]
    bases: list[int]


class Crash(NamedTuple):
    """A state of a log: so many exchanges are done, the next one is somewhere between."""

    topic: str
    number: int
    step: str
    done: int


def _name(base_offset: int, kind: str, suffix: str = "") -> str:
    return f"{base_offset:020d}.{kind}{suffix}"


def _folder(source: Source, copy: str) -> Path:
    return broker_disks.log_dir(source.scenario, copy) / f"{source.topic}-0"


def _bases(folder: Path, suffix: str = "") -> list[int]:
    return sorted(int(path.name[:20]) for path in folder.glob(f"*.log{suffix}"))


def _before_the_cleaner(source: Source, folder: Path) -> Cleaned:
    """The partition with its old segments, and what the new ones are."""
    after = _folder(source, source.after)
    shutil.copytree(after if source.before is None else _folder(source, source.before), folder)
    if source.before is None:
        old = _bases(folder, _DELETED)
        for base in old:
            for path in folder.glob(f"{base:020d}.*"):
                if path.name.split(".")[1] in _KINDS and path.suffix != _DELETED:
                    path.unlink()
        for path in folder.glob(f"*{_DELETED}"):
            path.rename(path.with_suffix(""))
    else:
        old = _bases(folder)[:-1]  # to the active one more was written
    starts = [base for base in _bases(after) if base in old]
    exchanges = []
    for base, end in pairwise([*starts, _ALL]):
        files = {kind: after / _name(base, kind) for kind in _KINDS}
        content = {kind: path.read_bytes() for kind, path in files.items() if path.exists()}
        exchanges.append(Exchange(base, content, [each for each in old if base <= each < end]))
    return Cleaned(folder, exchanges, _bases(folder))


def _renamed(folder: Path, base: int, suffix: str, new_suffix: str) -> Iterator[str]:
    for kind in _KINDS:
        path = folder / _name(base, kind, suffix)
        if path.exists():
            path.rename(folder / _name(base, kind, new_suffix))
            yield f"{path.name} becomes {new_suffix or 'live'}"


def _cleaned(folder: Path, exchange: Exchange) -> Iterator[str]:
    for kind, content in exchange.files.items():
        path = folder / _name(exchange.base_offset, kind, _CLEANED)
        path.write_bytes(content[: len(content) // 2])
        yield f"{path.name} is half written"
        path.unlink()  # the state before has the same file
        path.write_bytes(content)
        yield f"{path.name} is written"


def _exchanged(folder: Path, exchange: Exchange) -> Iterator[str]:
    """As the cleaner does it."""
    base = exchange.base_offset
    yield from _cleaned(folder, exchange)
    yield from _renamed(folder, base, _CLEANED, _SWAP)
    for old in exchange.old:
        yield from _renamed(folder, old, "", _DELETED)
    yield from _renamed(folder, base, _SWAP, "")
    for path in sorted(folder.glob(f"*{_DELETED}")):
        path.unlink()
        yield f"{path.name} is unlinked"


def _recovered(folder: Path, exchange: Exchange) -> Iterator[str]:
    """As a starting broker ends an exchange that was stopped when old segments were left."""
    for path in sorted(folder.glob(f"*{_DELETED}")):
        path.unlink()
        yield f"the loader unlinks {path.name}"
    for old, kind in ((old, kind) for old in exchange.old for kind in _KINDS):
        path = folder / _name(old, kind)
        if path.exists():
            path.unlink()
            yield f"the loader unlinks {path.name}"
    for step in _renamed(folder, exchange.base_offset, _SWAP, ""):
        yield f"the loader renames {step}"


def _stopped_and_recovered(folder: Path, exchange: Exchange) -> Iterator[str]:
    """The broker dies when half of the old files are renamed, and starts again."""
    list(_cleaned(folder, exchange))
    list(_renamed(folder, exchange.base_offset, _CLEANED, _SWAP))
    steps = chain.from_iterable(_renamed(folder, old, "", _DELETED) for old in exchange.old)
    for _ in range(2):
        next(steps)
    yield from _recovered(folder, exchange)


def _crashes(source: Source, data: Path, work: Path) -> tuple[Cleaned, list[Crash]]:
    """A partition of the log dir for each state of the log; the first is before the cleaner."""
    cleaned = _before_the_cleaner(source, work / source.topic)
    crashes: list[Crash] = []

    def keep(folder: Path, step: str, done: int) -> None:
        crashes.append(Crash(source.topic, len(crashes), step, done))
        place = data / f"{source.topic}-{crashes[-1].number}"
        shutil.copytree(folder, place, copy_function=os.link)

    keep(cleaned.folder, "before", 0)
    for done, exchange in enumerate(cleaned.exchanges):
        other = work / f"{source.topic}-{done}"
        shutil.copytree(cleaned.folder, other, copy_function=os.link)
        for step in _stopped_and_recovered(other, exchange):
            keep(other, step, done)
        for step in _exchanged(cleaned.folder, exchange):
            keep(cleaned.folder, step, done)
    keep(cleaned.folder, "after", len(cleaned.exchanges))
    return cleaned, crashes


def _within(records: Records, start: int, stop: int) -> Records:
    return [record for record in records if start <= record.offset < stop]


def _differences(
    cleaned: Cleaned, crash: Crash, found: Records, states: tuple[Records, Records]
) -> list[str]:
    """Where a log's records are those of neither state, segment by segment.

    A segment that is not being exchanged has to be what the exchanges before have made of it.
    """
    result = []
    for start, stop in pairwise([*cleaned.bases, _ALL]):
        group = next((n for n, each in enumerate(cleaned.exchanges) if start in each.old), None)
        allowed = list(states)
        if group is None or group > crash.done:
            allowed = [states[0]]
        elif group < crash.done:
            allowed = [states[1]]
        if _within(found, start, stop) not in [_within(state, start, stop) for state in allowed]:
            result.append(f"{crash}: offsets {start} to {stop}")
    return result


@pytest.mark.parametrize(
    "sources",
    [_TELLING, pytest.param(_OTHERS, marks=pytest.mark.matrix)],
    ids=["telling", "others"],
)
def test_every_crash_of_the_cleaner_leaves_the_records_of_before_or_after(
    sources: Sequence[Source], data: Path, lake: Path, tmp_path: Path
) -> None:
    data.mkdir()
    logs = [_crashes(source, data, tmp_path / "work") for source in sources]
    (data / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=crashes\n")
    marks = {
        (crash.topic, crash.number): _high_watermark(source)
        for source, (_, crashes) in zip(sources, logs, strict=True)
        for crash in crashes
    }
    write_checkpoint(data / "replication-offset-checkpoint", marks)
    assert len(marks) > 30 * len(sources)

    # No checkpoint says that the cleaner was there: what it took of older formats is `missing`.
    limits = {"fail_on_unexplained_gap": False}
    summary = ingested(data, lake, isolation=_ISOLATION, limits=limits)
    assert (
        summary.exit_code,
        summary.counts.quarantined,
        summary.findings.of(*NOT_INGESTED_YET),
    ) == (
        0,
        0,
        [],
    )
    assert imbalances_of(lake) == []
    found: dict[tuple[str, int], Records] = {key: [] for key in marks}
    for row in read_table(lake, "records"):
        found[row["topic"], row["partition"]].append(oracle_record(row))
    for records in found.values():
        records.sort(key=lambda record: record.offset)
    wrong = []
    for source, (cleaned, crashes) in zip(sources, logs, strict=True):
        states = found[source.topic, 0], found[source.topic, crashes[-1].number]
        _check_with_oracle(source, cleaned, *states)
        for crash in crashes:
            wrong += _differences(cleaned, crash, found[crash.topic, crash.number], states)
    assert wrong == []


def _high_watermark(source: Source) -> int:
    listed = broker_disks.partitions(source.scenario, source.before or source.after)
    known = {(facts.topic, facts.partition): facts.high_watermark for facts in listed}
    return known[source.topic, 0]


def _check_with_oracle(source: Source, cleaned: Cleaned, before: Records, after: Records) -> None:
    """What a consumer got of the cleaned log; and of the log before, where one asked."""
    assert len(after) < len(before)
    assert set(after) <= set(before)
    expected = expected_records(source.scenario, source.after, source.topic, 0, _ISOLATION)
    if source.before is None:
        assert after == expected
        return
    old = expected_records(source.scenario, source.before, source.topic, 0, _ISOLATION)
    active = cleaned.bases[-1]
    assert before == old
    assert after == [*_within(expected, 0, active), *_within(old, active, _ALL)]
