"""Tasks that survey topics before their rows are decoded: forms, schemas, types of JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import RECORDS
from seglake.lake.typed_tables import TypedTable
from seglake.pipelines.lake_deserialize.topic_plan import TopicFacts, TopicWork
from seglake.progress.run_reporter import RunReporter
from seglake.task_engine.engine import Engine
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_decoding.json_shapes import JsonTypes, TypesTask, json_types
from seglake.value_decoding.rows_task import RowsTask
from seglake.value_decoding.tasks import SurveyTask, survey

Task = TypeVar("Task", SurveyTask, TypesTask)
Found = TypeVar("Found", FormEvidence, JsonTypes)


def file_sizes(tables: LakeTables, tasks: Iterable[RowsTask]) -> list[int]:
    """Return the size in bytes of the file of `records` that each task reads."""
    found = [tables.storage.info(task.path) for task in tasks]
    return [1 if info is None else info.size_bytes for info in found]


class TopicSurveys:
    """Runs the tasks that survey topics, for all topics of a cluster at once."""

    def __init__(self, tables: LakeTables, engine: Engine, reporter: RunReporter) -> None:
        """Store the lake, the engine that runs the tasks, and the progress reporter."""
        self._tables = tables
        self._engine = engine
        self._reporter = reporter

    def rows_tasks(self, work: TopicWork) -> list[RowsTask]:
        """Return a task for each file of `records` that may have rows of the new commits.

        The oldest file comes first: types that are found in values get columns in this order.
        """
        generations, (first, last) = work.generations, work.offsets
        if not generations:
            return []
        pruned = [
            *(("partition", ">=", min(generations)), ("partition", "<=", max(generations))),
            *(("offset", ">=", first), ("offset", "<=", last)),
        ]
        paths = self._tables.file_paths(RECORDS, topic=work.topic, pruned_by=pruned)
        return [
            RowsTask(
                storage=self._tables.storage,
                path=path,
                source_id=work.source.source_id,
                generations=generations,
                first_offset=first,
                last_offset=last,
            )
            for path in reversed(paths)  # delta-rs lists the newest first
        ]

    def facts(
        self,
        works: Sequence[TopicWork],
        tasks: Sequence[Sequence[RowsTask]],
        known: Sequence[TypedTable],
        subjects: Mapping[str, str],
        may_skip: Callable[[TopicFacts], bool] = lambda facts: False,
    ) -> list[TopicFacts]:
        """Return the facts of each topic, without the types of its JSON.

        Args:
            works: the topics.
            tasks: the tasks of each topic, see `rows_tasks`.
            known: the typed tables that topics have.
            subjects: subjects that a person names, by `<topic>-<part>`.
            may_skip: whether a topic need not be surveyed, given its facts without a survey.
        """
        facts = [
            TopicFacts(
                work=work,
                surveys={part: FormEvidence() for part in work.own_subjects},
                known=[table for table in known if table.topic == work.topic],
                types={},
                subjects=subjects,
            )
            for work in works
        ]
        facts = [replace(each, is_surveyed=not may_skip(each)) for each in facts]
        groups = [
            [SurveyTask(task, each.work.source.registry, each.work.own_subjects) for task in mine]
            if each.is_surveyed
            else []
            for each, mine in zip(facts, tasks, strict=True)
        ]
        if any(groups):
            self._add(survey, groups, [each.surveys for each in facts], "reading schema ids")
        return facts

    def json_types(
        self, facts: Sequence[TopicFacts], tasks: Sequence[Sequence[RowsTask]]
    ) -> list[dict[str, JsonTypes]]:
        """Return the types of each topic's JSON, by part, found in all values."""
        forms = [each.json_forms() for each in facts]
        groups = [
            [TypesTask(task, own) for task in mine if own]
            for own, mine in zip(forms, tasks, strict=True)
        ]
        types = [{part: JsonTypes() for part in own} for own in forms]
        if any(groups):
            self._add(json_types, groups, types, "finding types of JSON")
        return types

    def _add(
        self,
        function: Callable[[Task], dict[str, Found]],
        groups: Sequence[Sequence[Task]],
        totals: Sequence[Mapping[str, Found]],
        text: str,
    ) -> None:
        """Run the tasks of all topics at once, and add the results to each topic's parts."""
        flat = [task for group in groups for task in group]
        sizes = file_sizes(self._tables, (task.rows for task in flat))
        done = iter(self._reporter.run_tasks(self._engine, function, flat, sizes=sizes, text=text))
        for total, group in zip(totals, groups, strict=True):
            for _ in group:
                for part, more in next(done).items():
                    total[part].add(more)
