"""Steps of `deserialize`: finds undecoded records, chooses forms, decodes and commits.

Each topic is decoded and committed separately, completely or not at all. A run that dies leaves
unreferenced files, or a decided commit that the next run completes.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from seglake.lake import delta_commit
from seglake.lake.commit_protocol import Attempt as CommitAttempt
from seglake.lake.commit_protocol import no_hook
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TypedTableError
from seglake.lake.lake_opening import opened_to_commit
from seglake.lake.parquet_files import DataFile
from seglake.lake.topic_drop import drop_topic
from seglake.lake.typed_tables import (
    TypedTable,
    align,
    commit_tables,
    create_or_extend,
    create_value_tables,
    typed_tables,
)
from seglake.lake.value_recovery import complete_values
from seglake.lake.waves import TopicWave
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.log_tables.schema_rows import store_schemas
from seglake.pipelines.lake_deserialize.column_rows import store_columns
from seglake.pipelines.lake_deserialize.deserialize_choice import (
    Again,
    DeserializeChoice,
    incomplete_registries,
)
from seglake.pipelines.lake_deserialize.deserialize_summary import (
    DeserializeSummary,
    Standing,
)
from seglake.pipelines.lake_deserialize.foreseen_schemas import (
    UnforeseenError,
    may_be_foreseen,
    with_foreseen,
)
from seglake.pipelines.lake_deserialize.pending_works import (
    checked_topics,
    new_works,
    published,
)
from seglake.pipelines.lake_deserialize.rebuild_check import lost_by_rebuild
from seglake.pipelines.lake_deserialize.standing_rejects import (
    current_count,
    retries_of,
    standing_rejects,
)
from seglake.pipelines.lake_deserialize.topic_plan import (
    NotTyped,
    TopicFacts,
    TopicForm,
    TopicWork,
    form_of,
)
from seglake.pipelines.lake_deserialize.topic_results import ledger_file, result_of
from seglake.pipelines.lake_deserialize.topic_surveys import TopicSurveys, file_sizes
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine
from seglake.value_codec.schema_readers import SchemaReaders
from seglake.value_decoding.rows_task import Attempt, RowsTask
from seglake.value_decoding.tasks import (
    Counts,
    DecodeReport,
    DecodeTask,
    decode,
)
from seglake.value_decoding.typed_rows import Stamp


def deserialize(
    lake: str,
    storage: Storage,
    engine: Engine,
    reporter: RunReporter,
    settings: Settings,
    *,
    choice: DeserializeChoice,
    run_id: str | None = None,
    after: Callable[[str], None] = no_hook,
) -> DeserializeSummary:
    """Decode keys and values of newly ingested records into typed tables.

    It may run beside ingests, readers, and another run of its kind.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        engine: runs the tasks.
        reporter: shows the steps.
        settings: settings that select topics.
        choice: source of the schemas, and records to decode again.
        run_id: label of the run, in its rows; None for a new one.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        LakeFolderError, UnsafeStoreError, WrongCallError: a wrong call; nothing was touched.
        SeglakeError: the lake or a worker failed; run it again.
    """
    started = time.monotonic()
    tables = opened_to_commit(lake, storage, is_single_writer=settings.write.single_writer)
    sources = choice.registries(tables)
    subjects = dict(settings.values.subjects)
    unmatched = checked_topics(tables.topics(), sources, settings.select, subjects)
    run = _Run(tables, engine, reporter, settings, run_id or uuid.uuid4().hex, after)
    summary = DeserializeSummary(
        run.run_id,
        tables.lake_path,
        left_out=unmatched.missing,
        fails_on_rejects=settings.limits.fail_on_rejects,
        retries=choice.again.rejects,
    )
    reporter.step("completing what earlier runs began")
    create_value_tables(tables)
    summary.recovered = complete_values(tables, run_id=run.run_id, after=after)
    store_schemas(tables, sources, run.run_id)
    run.decode(sources, choice.again, summary)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


@dataclass(slots=True)
class _Run:
    tables: LakeTables
    engine: Engine
    reporter: RunReporter
    settings: Settings
    run_id: str
    after: Callable[[str], None]
    kept: frozenset[str] = frozenset()

    def decode(
        self, sources: Sequence[LakeRegistry], again: Again, summary: DeserializeSummary
    ) -> None:
        """Decode new records, and then records with rejected values again, cluster by cluster."""
        summary.notes += incomplete_registries(sources)
        if again.everything:
            self._drop(sources, summary)
        for source in sources:
            for find in (new_works, retries_of) if again.rejects else (new_works,):
                generations = published(self.tables, source, self._topics(source))
                self._of_works(source, [*find(self.tables, source, generations)], summary)
            self._note_rejects(source, summary)

    def _drop(self, sources: Sequence[LakeRegistry], summary: DeserializeSummary) -> None:
        """Drop all decoded values of the selected topics, so that they are decoded again.

        Topics that could not be decoded afterwards keep their values, and are not decoded in this
        run.
        """
        selected = {topic for source in sources for topic in self._topics(source)}
        selected &= {each.topic for each in typed_tables(self.tables)}
        subjects, surveys = dict(self.settings.values.subjects), self._surveys()
        kept: dict[str, str] = {}
        for source in sources:
            topics = sorted(selected.intersection(self._topics(source)))
            kept |= lost_by_rebuild(self.tables, surveys, source, topics, subjects)
        summary.left_out |= kept
        self.kept = frozenset(kept)
        for topic in sorted(selected - self.kept):
            self.reporter.step(f"dropping the typed tables of {topic}")
            is_dropped = drop_topic(
                self.tables,
                topic,
                self.tables.source_ids(),
                run_id=self.run_id,
                after=self.after,
            )
            if not is_dropped:
                summary.left_out[topic] = f"{topic}: another run was faster; run again"

    def _note_rejects(self, source: LakeRegistry, summary: DeserializeSummary) -> None:
        """Report the rejects of one cluster that no run has resolved."""
        for topic in self._topics(source):
            found = standing_rejects(self.tables, source.source_id, topic)
            values, keys = (current_count(source, topic, offsets) for offsets in found)
            if values or keys:
                summary.standing.append(Standing(source.source_id, topic, values, keys))

    def _topics(self, source: LakeRegistry) -> list[str]:
        selects = self.settings.select.selects_topic
        return [t for t in source.ledger.topics if t != source.topic and selects(t)]

    def _surveys(self) -> TopicSurveys:
        return TopicSurveys(self.tables, self.engine, self.reporter)

    def _of_works(
        self, source: LakeRegistry, works: Sequence[TopicWork], summary: DeserializeSummary
    ) -> None:
        """Decode and commit some topics of one cluster, one after the other."""
        readers, surveys = SchemaReaders(source.registry), self._surveys()
        works = [work for work in works if work.topic not in self.kept]
        tasks = [surveys.rows_tasks(work) for work in works]
        subjects = dict(self.settings.values.subjects)
        known = typed_tables(self.tables)
        facts = surveys.facts(works, tasks, known, subjects, may_be_foreseen)
        types = surveys.json_types(facts, tasks)
        for each, mine, found in zip(facts, tasks, types, strict=True):
            try:
                self._of_topic(replace(each, types=found), mine, readers, summary)
            except UnforeseenError:
                [again] = surveys.facts([each.work], [mine], each.known, subjects)
                self._of_topic(replace(again, types=found), mine, readers, summary)

    def _of_topic(
        self,
        facts: TopicFacts,
        tasks: Sequence[RowsTask],
        readers: SchemaReaders,
        summary: DeserializeSummary,
    ) -> None:
        """Decode the new rows of one topic and commit them, or report why not.

        Raises:
            UnforeseenError: the topic has to be surveyed; nothing is committed or changed.
        """
        work = facts.work
        every = {each.table.name: each for each in typed_tables(self.tables)}
        try:
            form = form_of(facts, readers)
            form = form if facts.is_surveyed else with_foreseen(facts, form, readers)
            made = [create_or_extend(self.tables, each, every) for each in form.tables]
        except NotTyped as reason:
            if not facts.is_surveyed:
                raise UnforeseenError from reason
            if str(reason):
                summary.left_out[work.topic] = reason.of_topic(work.topic)
            elif tasks:
                summary.without_schemas.append(work.topic)
            return
        except TypedTableError as error:
            summary.left_out[work.topic] = NotTyped(str(error)).of_topic(work.topic)
            return
        store_columns(self.tables, work, form, self.run_id)
        every |= {each.table.name: each for each in made}
        align(self.tables, made, [work.source.source_id], self.run_id)
        reports = self._decoded(work, tasks, form, made)
        result = result_of(work, made, reports)
        if not result.is_balanced:
            summary.left_out[work.topic] = (
                f"{work.topic}: {result.records} records are not {result.typed_rows} typed rows and"
                f" {result.value_rejects} rejects; nothing of it was committed"
            )
            return
        if work.retried is not None and not any(report.files for report in reports):
            return
        if self._commit(work, reports, [*every.values()]):
            if work.retried is not None:
                summary.retried.append(result)
            elif result.records:  # ranges of the ledger may have no records
                summary.topics.append(result)
        else:
            summary.left_out[work.topic] = f"{work.topic}: another run was faster; run again"

    def _decoded(
        self,
        work: TopicWork,
        tasks: Sequence[RowsTask],
        form: TopicForm,
        made: Sequence[TypedTable],
    ) -> list[DecodeReport]:
        """Decode the rows of a topic into files; raise UnforeseenError without any."""
        write = self.settings.write
        decodings = [
            DecodeTask(
                rows=task,
                lake_path=self.tables.lake_path,
                topic=work.topic,
                tables=tuple(each.table for each in made),
                key=form.key,
                value=form.value,
                registry=work.source.registry,
                stamp=Stamp(self.run_id, work.generation),
                compression_level=write.compression_level,
                max_raw_bytes=self.settings.quarantine.max_raw_bytes,
                retried=work.retried,
            )
            for task in tasks
        ]
        reports = self.reporter.run_tasks(
            self.engine,
            decode,
            decodings,
            sizes=file_sizes(self.tables, tasks),
            text=f"decoding {work.topic}",
        )
        if any(report.is_unforeseen for report in reports):
            self._delete(reports)
            raise UnforeseenError
        return reports

    def _delete(self, reports: Iterable[DecodeReport]) -> None:
        """Delete files that no commit will add."""
        for file in (file for report in reports for file in report.files):
            path = self.tables.storage.join(self.tables.lake_path, file.table, file.path)
            self.tables.storage.delete(path)

    def _commit(
        self, work: TopicWork, reports: Iterable[DecodeReport], every: Sequence[TypedTable]
    ) -> bool:
        """Commit a topic's files; return False if another run was faster."""
        now_ms, attempt_id = time.time_ns() // 1_000_000, uuid.uuid4().hex
        attempts = work.attempts if work.retried is None else ()
        counts: dict[Attempt, Counts] = {attempt: Counts() for attempt in attempts}
        files: list[DataFile] = []
        for report in reports:
            files += report.files
            for attempt, found in report.counts.items():
                counts.setdefault(attempt, Counts()).add(found)
        files.append(ledger_file(self.tables, work, counts, self.run_id, attempt_id))
        outcome = delta_commit.commit_wave(
            self.tables,
            CommitAttempt(
                source_id=work.source.source_id,
                attempt_id=attempt_id,
                run_id=self.run_id,
                now_ms=now_ms,
            ),
            [TopicWave(work.topic, work.generation, tuple(files))],
            commits_to=commit_tables(every),
            after=self.after,
        )
        return bool(outcome.committed)
