"""Tests the page of `make bench-kafka`: medians, marks, and rows where seglake is slower."""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.kafka.bench_kafka import CHART, COMMAND
from bench.kafka.chart import chart
from bench.kafka.figures import Cost, Measured, Start, slower_cases
from bench.kafka.sessions import Job, measured_jobs
from bench.kafka.systems import System
from bench.kafka.tables import details, page
from bench.kafka.topics import TOPICS, Topic
from bench.machine import PAGE, updated

_MIB = 1024 * 1024
_JOB = Job(
    wall_s=2.0,
    cpu_s=4.0,
    broker_cpu_s=0.5,
    foreign_cores=0.1,
    memory_bytes=300 * _MIB,
    process_bytes=200 * _MIB,
    output_bytes=50 * _MIB,
)
_W1 = ["`w1`", TOPICS[0].about, "8,000,000", "355"]
_BURN = """
import subprocess, sys, time
time.sleep(0.5)
for folder in sys.stdin:
    subprocess.run([sys.executable, "-c", "x = 0\\nwhile x < 6_000_000: x += 1"])
    if "fails" in folder:
        sys.exit("it broke")
    print("something else\\n{}", flush=True)
"""


def _measured(
    jobs: dict[tuple[System, Start], list[Job]] | None = None, limit_s: float | None = 1.5
) -> Measured:
    """Every job is the same one, but for those given."""
    same = {key: [_JOB] for key in product(System, Start)}
    return Measured(
        topic=TOPICS[0],
        record_count=8_000_000,
        log_bytes=355 * _MIB,
        jobs=same | (jobs or {}),
        limit_s=limit_s,
    )


def _walls(*seconds: float) -> list[Job]:
    return [replace(_JOB, wall_s=wall_s) for wall_s in seconds]


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _page(*found: Measured) -> str:
    return page(found, ["Measured today"], CHART)


def _details(*found: Measured) -> str:
    return details(found, ["Measured today"])


def test_wall_times_are_medians_of_all_rounds_cold_and_warm() -> None:
    jobs = {
        (System.LOCAL, Start.COLD): _walls(9.0, 5.0, 7.0),
        (System.LOCAL, Start.WARM): _walls(3.0, 1.0),
    }
    row = [*_W1, "7.00 / 2.00", *["2.00 / 2.00"] * 3]
    assert row in _rows(_page(_measured(jobs)))


def test_cpu_time_of_the_kafka_source_includes_the_broker_s_and_stands_beside_the_limit() -> None:
    row = ["`w1`", "4.00", "4.00", "4.50", "4.00", "1.50"]
    assert row in _rows(_details(_measured()))


def test_limit_that_nobody_knows_is_left_empty() -> None:
    assert ["`w1`", "4.00", "4.00", "4.50", "4.00", ""] in _rows(_details(_measured(limit_s=None)))


def test_other_load_in_one_round_marks_the_wall_time() -> None:
    loaded = [_JOB, replace(_JOB, foreign_cores=0.31), _JOB]
    found = _measured({(System.JAVA, Start.WARM): loaded})
    row = [*_W1, "2.00 / 2.00", "2.00 / 2.00", "2.00 / 2.00", "2.00 / 2.00~"]
    assert row in _rows(_page(found))
    assert ["`w1`", "4.00", "4.00", "4.50", "4.00", "1.50"] in _rows(_details(found))


def test_page_has_the_lowest_and_the_highest_cpu_time_and_memory_of_all_workloads() -> None:
    heavy = [replace(_JOB, cpu_s=12.0, memory_bytes=2_000 * _MIB)]
    rows = _rows(_page(_measured(), _measured({(System.SPARK, Start.WARM): heavy})))
    assert rows[-2][:3] == ["CPU time, s", "4.00 to 4.00", "4.00 to 12.0"]
    assert rows[-1][:3] == ["memory, MiB", "300 to 300", "300 to 2,000"]


def test_output_and_memory_are_in_mebibytes() -> None:
    assert ["`w1`", *["50.0; 300"] * 4] in _rows(_details(_measured()))


def test_seglake_is_slower_where_another_way_takes_less_and_the_worst_comes_first() -> None:
    jobs = {
        (System.JAVA, Start.COLD): [replace(_JOB, wall_s=1.0, cpu_s=3.0)],
        (System.KAFKA_SOURCE, Start.WARM): [replace(_JOB, wall_s=0.5)],
    }
    found = _measured(jobs)
    assert [(case.other, case.start, case.cost, case.ratio) for case in slower_cases([found])] == [
        (System.KAFKA_SOURCE, Start.WARM, Cost.WALL, 4.0),
        (System.JAVA, Start.COLD, Cost.WALL, 2.0),
        (System.JAVA, Start.COLD, Cost.CPU, 4 / 3),
    ]
    line = "- `w1`, warm: Spark 2.00 s of wall time, Spark's Kafka source 0.50 s (4.0 times)"
    assert line in _page(found).splitlines()


def test_difference_within_the_noise_is_not_called_slower() -> None:
    jobs = {(System.JAVA, Start.WARM): _walls(2.0 / 1.04)}
    assert slower_cases([_measured(jobs)]) == []
    assert "**Where seglake is slower**: in none of these." in _page(_measured(jobs))


def test_picture_has_a_bar_for_each_time_and_the_longest_of_a_group_fills_its_panel() -> None:
    jobs = {
        (System.LOCAL, Start.COLD): _walls(5.0),
        (System.KAFKA_SOURCE, Start.COLD): _walls(20.0),
    }
    svg = ElementTree.fromstring(chart([_measured(jobs)]))
    bars = [each for each in svg.findall("{*}rect") if each.get("height") == "10"]
    lengths = [float(each.attrib["width"]) for each in bars]
    assert len(bars) == len(System) * len(Start)
    cold, warm = lengths[:4], lengths[4:]
    assert cold == [max(cold) / 4, max(cold) / 10, max(cold), max(cold) / 10]
    assert warm == [max(cold)] * 4
    texts = [each.text for each in svg.findall("{*}text")]
    assert {*System, "w1", "5.0", "20.0"} <= set(texts)


def test_only_what_is_between_the_marks_of_the_page_is_replaced() -> None:
    document = PAGE.read_text("utf-8")
    once = updated(document, "old figures", COMMAND)
    again = updated(once, "new figures", COMMAND)
    assert "new figures" in again
    assert "old figures" not in again
    assert again == once.replace("old figures", "new figures")
    assert once.splitlines()[:3] == document.splitlines()[:3]
    assert once.splitlines()[-3:] == document.splitlines()[-3:]


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_partition_of_a_scaled_topic_has_a_whole_batch_or_transaction(topic: Topic) -> None:
    unit = topic.transaction_records or topic.records_per_batch
    assert topic.scaled(0).record_count >= unit * topic.partition_count


def test_job_is_measured_with_what_it_starts_and_the_first_one_with_the_start(
    tmp_path: Path,
) -> None:
    asked = []

    def checked(folder: Path) -> int:
        asked.append(folder.name)
        return 7

    cold, warm = measured_jobs(
        [sys.executable, "-c", _BURN],
        [tmp_path / "one", tmp_path / "two"],
        broker_pid=1,
        checked=checked,
        log=tmp_path / "log",
        environment={},
    )
    assert asked == ["one", "two"]
    assert warm.output_bytes == 7
    assert 0.05 < warm.cpu_s <= warm.wall_s + 0.02
    assert cold.wall_s > 0.5


def test_job_that_fails_ends_the_measurement_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="it broke"):
        measured_jobs(
            [sys.executable, "-c", _BURN],
            [tmp_path / "fails"],
            broker_pid=1,
            checked=lambda _: 0,
            log=tmp_path / "log",
            environment={},
        )
