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
_CPU = "**CPU time**, cold / warm, in seconds. That of Spark's Kafka source includes the broker's."
_SIZES = "**Output; peak private memory** of all processes, of the largest; in MiB, of warm jobs."


def page(found: Sequence[Measured], facts: Sequence[str], chart: str) -> str:
    """What docs/performance.md shows.

    Args:
        facts: when, where and with what it was measured, a line each.
        chart: the name of the picture.
    """
    return "\n\n".join(
        [
            "\n".join(f"- {fact}" for fact in facts),
            f"![Wall time of each system, cold and warm]({chart})",
            _workloads(found),
            _WALL,
            _times(found, Cost.WALL),
            _CPU,
            _times(found, Cost.CPU),
            _SIZES,
            _sizes(found),
            *_slower(slower_cases(found)),
        ]
    )


def _workloads(found: Sequence[Measured]) -> str:
    return _table(
        ["workload", "what", "records", "log MiB", "most other load, cores"],
        (
            [
                _code(each),
                each.topic.about,
                f"{each.record_count:,}",
                _number(each.log_bytes / _MIB),
                f"{each.most_foreign_cores:.1f}",
            ]
            for each in found
        ),
    )


def _times(found: Sequence[Measured], cost: Cost) -> str:
    def pair(each: Measured, system: System) -> str:
        return " / ".join(_time(each, system, start, cost) for start in Start)

    limit = ["limit"] if cost is Cost.CPU else []
    return _table(
        ["workload", *System, *limit],
        (
            [
                _code(each),
                *(pair(each, system) for system in System),
                *(["" if each.limit_s is None else _number(each.limit_s)] if limit else []),
            ]
            for each in found
        ),
    )


def _time(each: Measured, system: System, start: Start, cost: Cost) -> str:
    is_marked = cost is Cost.WALL and each.is_disturbed(system, start)
    return _number(each.cost_s(system, start, cost)) + _DISTURBED * is_marked


def _sizes(found: Sequence[Measured]) -> str:
    def cell(each: Measured, system: System) -> str:
        values: list[Callable[[Job], float]] = [
            lambda job: job.output_bytes,
            lambda job: job.memory_bytes,
            lambda job: job.process_bytes,
        ]
        output, tree, largest = (
            _number(each.median(system, Start.WARM, value) / _MIB) for value in values
        )
        return f"{output}; {tree}, {largest}"

    return _table(
        ["workload", *System],
        ([_code(each), *(cell(each, system) for system in System)] for each in found),
    )


def _slower(cases: Sequence[Slower]) -> list[str]:
    if not cases:
        return ["**Where seglake is slower**: in none of these."]
    return [
        "**Where seglake is slower**, by more than 5 %:",
        _table(
            ["workload", "seglake", "slower than", "start", "in", "seconds", "times"],
            (
                [
                    f"`{case.topic}`",
                    case.ours.removeprefix("seglake, "),
                    case.other,
                    case.start,
                    case.cost,
                    f"{_number(case.ours_s)} against {_number(case.other_s)}",
                    f"{case.ratio:.1f}",
                ]
                for case in cases
            ),
        ),
    ]


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(each: Measured) -> str:
    return f"`{each.topic.name}`"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
