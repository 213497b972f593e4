"""The figures as Markdown."""

from collections.abc import Callable, Iterable, Sequence

from bench.kafka.figures import Cost, Measured, Slower, Start, slower_cases
from bench.kafka.sessions import Job
from bench.kafka.systems import System

_MIB = 1024 * 1024
_DISTURBED = "~"
_WALL = (
    f"**Wall time**, cold / warm, in seconds. `{_DISTURBED}`: in at least one of the rounds, other"
    " work on the machine took more than 0.3 cores."
)
_CPU = "**CPU time**, warm, in seconds. That of Spark's Kafka source includes the broker's."
_SPANS = "**CPU time and peak private memory** of warm jobs: lowest to highest of all workloads."
_SIZES = "**Output; peak private memory** of all processes, in MiB, of warm jobs."


def page(found: Sequence[Measured], facts: Sequence[str], chart: str) -> str:
    """What tests/bench/results.md shows.

    Args:
        facts: when, where and with what it was measured, a line each.
        chart: the name of the picture.
    """
    return "\n\n".join(
        [
            "\n".join(f"- {fact}" for fact in facts),
            f"![Wall time of each system, cold and warm]({chart})",
            _WALL,
            _wall_times(found),
            _SPANS,
            _spans(found),
            *_slower(slower_cases(found)),
        ]
    )


def details(found: Sequence[Measured], facts: Sequence[str]) -> str:
    """What results.md beside this module shows: CPU time, output and memory of each workload."""
    return "\n\n".join(
        [
            "# Each workload of `make bench-kafka`",
            "\n".join(f"- {fact}" for fact in facts),
            _CPU,
            _cpu_times(found),
            _SIZES,
            _sizes(found),
        ]
    )


def _wall_times(found: Sequence[Measured]) -> str:
    def pair(each: Measured, system: System) -> str:
        return " / ".join(_wall_time(each, system, start) for start in Start)

    return _table(
        ["workload", "what", "records", "log MiB", *System],
        (
            [
                _code(each),
                each.topic.about,
                f"{each.record_count:,}",
                _number(each.log_bytes / _MIB),
                *(pair(each, system) for system in System),
            ]
            for each in found
        ),
    )


def _wall_time(each: Measured, system: System, start: Start) -> str:
    text = _number(each.cost_s(system, start, Cost.WALL))
    return text + _DISTURBED * each.is_disturbed(system, start)


def _cpu_times(found: Sequence[Measured]) -> str:
    return _table(
        ["workload", *System, "limit"],
        (
            [
                _code(each),
                *(_number(each.cost_s(system, Start.WARM, Cost.CPU)) for system in System),
                "" if each.limit_s is None else _number(each.limit_s),
            ]
            for each in found
        ),
    )


def _spans(found: Sequence[Measured]) -> str:
    def span(values: Sequence[float]) -> str:
        return f"{_number(min(values))} to {_number(max(values))}"

    def cpu(system: System) -> str:
        return span([each.cost_s(system, Start.WARM, Cost.CPU) for each in found])

    def memory(system: System) -> str:
        sizes = [each.median(system, Start.WARM, lambda job: job.memory_bytes) for each in found]
        return span([size / _MIB for size in sizes])

    rows = [["CPU time, s", *map(cpu, System)], ["memory, MiB", *map(memory, System)]]
    return _table(["cost", *System], rows)


def _sizes(found: Sequence[Measured]) -> str:
    def cell(each: Measured, system: System) -> str:
        values: list[Callable[[Job], float]] = [
            lambda job: job.output_bytes,
            lambda job: job.memory_bytes,
        ]
        return "; ".join(_number(each.median(system, Start.WARM, value) / _MIB) for value in values)

    return _table(
        ["workload", *System],
        ([_code(each), *(cell(each, system) for system in System)] for each in found),
    )


def _slower(cases: Sequence[Slower]) -> list[str]:
    if not cases:
        return ["**Where seglake is slower**: in none of these."]
    return [
        "**Where seglake is slower**, by more than 5 %:",
        "\n".join(
            f"- `{case.topic}`, {case.start}: {case.ours.removeprefix('seglake, ')}"
            f" {_number(case.ours_s)} s of {case.cost}, {case.other} {_number(case.other_s)} s"
            f" ({case.ratio:.1f} times)"
            for case in cases
        ),
    ]


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(each: Measured) -> str:
    return f"`{each.topic.name}`"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
