"""What works on a simulated lake: runs, a compaction and a vacuum; each a generator of steps.

A run does what an ingest does with a lake: recover, read what is published, commit what is not in
waves, and plan anew what another run took. The steps of the protocol are the product's own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from seglake.lake.app_versions import published_steps
from seglake.lake.commit_port import NOW, Steps
from seglake.lake.commit_protocol import Attempt, commit_steps, recover_steps
from seglake.lake.parquet_files import DataFile, RemovedFile
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, RECORDS
from seglake.lake.waves import TopicWave
from torture.simulated_lake import (
    SOURCE,
    TABLES,
    OffsetRange,
    SimulatedLake,
    SimulatedPort,
    erasure,
)

TOPICS = ("orders", "clicks")
_MOST_ROUNDS = 5


def run_steps(
    port: SimulatedPort,
    log_ends: Mapping[str, int],
    wave_offsets: int,
    published: list[OffsetRange],
) -> Steps[None]:
    """Bring everything up to the logs' ends into the lake, or leave it to a later run.

    Args:
        wave_offsets: so many of each topic go into one wave.
        published: what this run was told to be committed is put here.
    """
    topics = sorted(log_ends)
    yield from recover_steps(port, SOURCE)
    for _ in range(_MOST_ROUNDS):
        generations, rows = yield from published_steps(port, SOURCE, topics)
        covered = [OffsetRange(**row) for row in rows]
        pieces = {
            topic: _cut(missing, wave_offsets)
            for topic in topics
            if (missing := _missing(topic, log_ends[topic], covered))
        }
        lost: set[str] = set()
        while pieces:
            wave = {topic: ranges.pop(0) for topic, ranges in pieces.items()}
            pieces = {topic: ranges for topic, ranges in pieces.items() if ranges}
            lost |= yield from _commit(port, wave, generations, published)
        if not lost:
            return
        topics = sorted(lost)
        yield from recover_steps(port, SOURCE, topics)


def _commit(
    port: SimulatedPort,
    wave: Mapping[str, OffsetRange],
    generations: dict[str, int],
    published: list[OffsetRange],
) -> Steps[set[str]]:
    """Commit one range of each topic; the topics that another run took."""
    yield NOW
    waves = [
        TopicWave(topic, generations[topic] + 1, _files(port, held)) for topic, held in wave.items()
    ]
    attempt = Attempt(source_id=SOURCE, attempt_id=port.new_commit_id(), run_id="run", now_ms=0)
    outcome = yield from commit_steps(port, attempt, waves)
    for topic in outcome.committed:
        generations[topic] += 1
        published.append(wave[topic])
    return {*outcome.lost}


def _files(port: SimulatedPort, held: OffsetRange) -> tuple[DataFile, ...]:
    """A range's files; each third range has no records but a gap."""
    rows = GAPS if held.start % 3 == 2 else RECORDS
    return tuple(port.write_file(table, held) for table in (rows, BATCHES, CHECKPOINTS))


def _missing(topic: str, end: int, covered: Iterable[OffsetRange]) -> list[OffsetRange]:
    found, start = [], 0
    for held in sorted(held for held in covered if held.topic == topic):
        if held.start > start:
            found.append(OffsetRange(topic, start, held.start))
        start = max(start, held.end)
    return found + ([OffsetRange(topic, start, end)] if start < end else [])


def _cut(ranges: Iterable[OffsetRange], most: int) -> list[OffsetRange]:
    return [
        OffsetRange(held.topic, start, min(start + most, held.end))
        for held in ranges
        for start in range(held.start, held.end, most)
    ]


def erasing_steps(
    port: SimulatedPort, lake: SimulatedLake, choose: Callable[[Sequence[OffsetRange]], OffsetRange]
) -> Steps[None]:
    """Erase one published range of records, by another file without it, or by none.

    Args:
        choose: chooses one of the ranges.
    """
    yield from recover_steps(port, SOURCE)
    for _ in range(_MOST_ROUNDS):
        generations, _ = yield from published_steps(port, SOURCE, TOPICS)
        yield NOW
        view = port.newest(RECORDS)
        files = {name: lake.contents[name] for name in sorted(view.version.files)}
        there = sorted(held for of_file in files.values() for held in of_file)
        if not there:
            return
        chosen = choose(there)
        [old] = [name for name, of_file in files.items() if chosen in of_file]
        kept = [held for held in files[old] if held != chosen]
        topic = chosen.topic
        added = [port.write_file(RECORDS, *kept)] if kept else []
        added += [
            port.write_file(GAPS, chosen),
            port.write_file(CHECKPOINTS, erasure(chosen), topic=topic),
        ]
        removed = (RemovedFile(topic, old, 1),)
        wave = TopicWave(topic, generations[topic] + 1, tuple(added), removed)
        attempt = Attempt(source_id=SOURCE, attempt_id=port.new_commit_id(), run_id="run", now_ms=0)
        outcome = yield from commit_steps(port, attempt, [wave])
        if outcome.committed:
            lake.erased.append(chosen)
            return
        yield from recover_steps(port, SOURCE, [topic])


def compaction_steps(port: SimulatedPort, lake: SimulatedLake) -> Steps[None]:
    """Put one file in the place of two, in each table, as any tool may at any time."""
    for table in TABLES:
        yield NOW
        view = port.newest(table)
        topics = {name: lake.contents[name][0].topic for name in sorted(view.version.files)}
        first = next(iter(topics.values()), "")
        old = [name for name, topic in topics.items() if topic == first][:2]
        if len(old) == 2:
            held = sorted(held for name in old for held in lake.contents[name])
            yield NOW
            new = port.write_file(table, *held)
            yield NOW
            port.rewrite(table, view, old, new.path)


def vacuum_steps(port: SimulatedPort, lake: SimulatedLake, at_work: Iterable[str]) -> Steps[None]:
    """Recover; then forget what is old: log entries, and files that no table names.

    Args:
        at_work: whose files and commits are too young for that when it begins: its first step.
    """
    young = {*at_work, *(late.version.writer for late in lake.late)}
    ends = {}
    for table in TABLES:
        log = lake.logs[table.name]
        of_young = (number for number, version in enumerate(log) if version.writer in young)
        ends[table.name] = min(next(of_young, len(log)), len(log) - 1)
    old = {name for name, writer in lake.writers.items() if writer not in young}
    yield from recover_steps(port, SOURCE)
    for table in TABLES:
        yield NOW
        view = port.newest(table)
        lake.history_start[table.name] = ends[table.name]
        of_table = {name for name in old if name.endswith(f".{table.name}")}
        lake.gone |= of_table - view.version.files
