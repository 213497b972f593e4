"""What `make bench-kafka` measures: seglake beside other ways from a Kafka log to a table.

Real brokers write the topics. The systems run in turn, round after round. The rows of each result
are counted; nothing else passes or fails. The tables and the picture come to build/bench/kafka, and
those of a whole run to tests/bench/results.md and kafka/results.md as well.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.bench_ingest import FOLDER, say
from bench.kafka.brokers import BrokerVersion, broker
from bench.kafka.chart import chart
from bench.kafka.figures import Measured, Start
from bench.kafka.sessions import Job
from bench.kafka.systems import Case, System, least_seconds, run
from bench.kafka.tables import details, page
from bench.kafka.topics import TOPICS, Topic, filled
from bench.kafka.versions import versions
from bench.machine import PAGE, machine, today, updated
from bench.processes import adopt_orphans

CHART = "bench-kafka.svg"
COMMAND = "make bench-kafka"
RESULTS = Path(__file__).with_name("results.md")
_WARM_JOBS = 2


def main(argv: Sequence[str]) -> int:
    """Fill the topics, measure, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the amount of data")
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--workloads", nargs="+", choices=[topic.name for topic in TOPICS])
    parser.add_argument("--docs", action="store_true", help="write docs also if it is not all")
    parser.add_argument("--folder", type=Path, default=FOLDER / "kafka", help="of all that is made")
    arguments = parser.parse_args(argv)
    names, scale = arguments.workloads, arguments.scale
    topics = [topic.scaled(scale) for topic in TOPICS if not names or topic.name in names]
    folder = arguments.folder.resolve()
    adopt_orphans()
    found = []
    for version in BrokerVersion:
        own = [topic for topic in topics if topic.version is version]
        if own:
            place = folder / f"{version}-scale-{scale:g}"
            found += list(_measured(version, own, arguments.runs, place))
    order = [topic.name for topic in topics]
    found.sort(key=lambda each: order.index(each.topic.name))
    facts = _facts(scale, arguments.runs, names)
    text, picture = page(found, facts, CHART), chart(found)
    results = details(found, facts) + "\n"
    (folder / "report.json").write_text(json.dumps([_plain(each) for each in found], indent=2))
    (folder / "performance.md").write_text(text + "\n")
    (folder / RESULTS.name).write_text(results)
    (folder / CHART).write_text(picture)
    if arguments.docs or (scale == 1 and not names):
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
        PAGE.with_name(CHART).write_text(picture, "utf-8")
        RESULTS.write_text(results, "utf-8")
    say(f"{text}\n\n{folder}")
    return 0


def _measured(
    version: BrokerVersion, topics: Sequence[Topic], runs: int, folder: Path
) -> Iterator[Measured]:
    """Each topic of one broker, in rounds."""
    with broker(version, folder) as running:
        cases = []
        for topic in topics:
            say(f"filling {topic.name}: {topic.record_count:,} records, {topic.about}")
            cases.append(Case(topic, running, filled(topic, running, folder)))
        jobs: dict[str, dict[tuple[System, Start], list[Job]]] = {
            topic.name: {(system, start): [] for system in System for start in Start}
            for topic in topics
        }
        for number in range(runs):
            for case in cases:
                for system in System:
                    cold, *warm = run(system, case, 1 + _WARM_JOBS, folder)
                    jobs[case.topic.name][system, Start.COLD].append(cold)
                    jobs[case.topic.name][system, Start.WARM] += warm
                    say(_shown(number, case, system, cold, warm))
        for case in cases:
            yield Measured(
                topic=case.topic,
                record_count=case.record_count,
                log_bytes=case.log_bytes,
                jobs=jobs[case.topic.name],
                limit_s=least_seconds(case, folder),
            )


def _shown(number: int, case: Case, system: System, cold: Job, warm: Sequence[Job]) -> str:
    times = " ".join(f"{job.wall_s:.2f}" for job in (cold, *warm))
    foreign = max(job.foreign_cores for job in (cold, *warm))
    return (
        f"round {number + 1}: {case.topic.name}, {system}: {times} s, {foreign:.1f} cores of others"
    )


def _facts(scale: float, runs: int, names: Sequence[str] | None) -> list[str]:
    command = COMMAND
    command += f" SCALE={scale:g}" if scale != 1 else ""
    command += f" RUNS={runs}" if runs != 5 else ""
    if names:
        command += f' WORKLOADS="{" ".join(names)}"'
    rounds = f"medians of {runs} rounds" if runs > 1 else "one round"
    size = "" if scale == 1 else f". A try with {scale:g} times the records: start-up is most of it"
    return [
        f"Measured on {today()} with `{command}`, {rounds}{size}",
        f"Machine: {machine()}",
        f"Versions: {versions()}",
    ]


def _plain(each: Measured) -> dict[str, object]:
    """As JSON can hold it."""
    jobs = {
        f"{system}, {start}": [asdict(job) for job in found]
        for (system, start), found in each.jobs.items()
    }
    return {
        "topic": asdict(each.topic),
        "record_count": each.record_count,
        "log_bytes": each.log_bytes,
        "limit_s": each.limit_s,
        "jobs": jobs,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
