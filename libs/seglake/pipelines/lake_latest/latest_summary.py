"""Summary of a run of `latest`, for a person and for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from seglake.findings.run_summary import RunSummary
from seglake.printable import as_lines, show_count


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """Changes of a run in the table of a topic, for one cluster.

    Attributes:
        table: name of the table.
        records: number of new records that were read.
        without_key: number of new records without a key, which have no row.
        inserted: number of new rows.
        updated: number of rows that were replaced.
        removed: number of rows whose record no longer counts.
        computed_anew: number of partitions that were computed from all their records.
    """

    source_id: str
    topic: str
    table: str
    records: int
    without_key: int
    inserted: int
    updated: int
    removed: int
    computed_anew: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedState:
    """Plan of a dry run for the table of a topic, for one cluster.

    Attributes:
        table: name of the table.
        commits: number of commits to `records` that the table does not have.
        computed_anew: number of partitions that would be computed from all their records.
    """

    source_id: str
    topic: str
    table: str
    commits: int
    computed_anew: int


@dataclass(slots=True)
class LatestSummary(RunSummary):
    """Summary of a run of `latest`, or of its dry run.

    Attributes:
        is_rebuild: whether all rows were computed from all records.
        topics: the topics with new records.
        planned: the topics that a dry run would update.
        unchanged: the selected topics without new records.
    """

    is_rebuild: bool = False
    topics: list[TopicState] = field(default_factory=list)
    planned: list[PlannedState] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)

    def to_text(self) -> str:
        """Return the summary of a run of `latest` as lines for a terminal."""
        return as_lines([self._headline(), *self._lines()])

    def _headline(self) -> str:
        done = "rebuilt" if self.is_rebuild else "brought up to date"
        if self.planned:
            text = f"{_tables(self.planned)} would be {done}"
        elif self.topics:
            text = f"{_tables(self.topics)} {done}"
        else:
            text = "nothing new for the latest state"
        if self.left_out:
            text += f", {show_count(len(self.left_out), 'topic')} left out"
        return f"{text} ({self.seconds:.1f} s)"

    def _lines(self) -> Iterator[str]:
        for plan in self.planned:
            anew = f"; {show_count(plan.computed_anew, 'partition')} to compute anew"
            yield (
                f"{plan.table}: {show_count(plan.commits, 'new commit')} to read"
                f"{anew if plan.computed_anew else ''}"
            )
        for each in self.topics:
            yield _line(each, "written anew" if self.is_rebuild else "changed")
        yield from self.findings.lines()


def _tables(states: Sequence[TopicState | PlannedState]) -> str:
    """Return the number of tables; a table may have rows of several clusters."""
    return show_count(len({each.table for each in states}), "table")


def _line(each: TopicState, how: str) -> str:
    text = (
        f"{each.table}: {show_count(each.records, 'new record')}, {each.inserted} keys new,"
        f" {each.updated} {how}"
    )
    if each.removed:
        text += f", {each.removed} removed"
    if each.computed_anew:
        text += f"; {show_count(each.computed_anew, 'partition')} computed anew"
    if each.without_key:
        text += f"; {show_count(each.without_key, 'record')} without a key left out"
    return text
