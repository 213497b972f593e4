"""Removes rows of `records`, and records this in the ledger and in `gaps`."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from typing import NamedTuple

import pyarrow as pa

from seglake.errors import SeglakeError
from seglake.grouping import grouped
from seglake.ingest_steps.committing.range_result import erased_row
from seglake.ingest_steps.committing.wave import ledger_columns, write_ledger, write_rows
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.lake import delta_commit
from seglake.lake.delta_commit import commit_wave, recover
from seglake.lake.parquet_files import DataFile
from seglake.lake.removed_sums import NOTHING_REMOVED, RemovedSums
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import GAPS, RECORDS
from seglake.lake.waves import TopicWave
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_erase.earlier_erasures import erased_earlier
from seglake.pipelines.lake_erase.erased_ranges import ErasedPlaces, erased_places
from seglake.pipelines.lake_erase.found_rows import PLACE_SCHEMA, FoundRows
from seglake.pipelines.lake_erase.other_tables import OtherTables
from seglake.pipelines.lake_erase.placed_rows import RecordPlaces
from seglake.pipelines.lake_erase.purge import Owner, storage_time_ms
from seglake.pipelines.lake_erase.rewritten_files import rewritten
from seglake.pipelines.lake_erase.rule_rows import RuleStore
from seglake.pipelines.lake_erase.value_commits import stop_decoding

_MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedTopic:
    """Result of an erasure for one topic of a source.

    Attributes:
        erased: sums of the erased records.
        files: number of files of `records` that had erased records.
        size_bytes: size of these files.
        read_files: number of files that were searched.
    """

    topic: str
    source_id: str
    erased: RemovedSums = NOTHING_REMOVED
    files: int = 0
    size_bytes: int = 0
    read_files: int = 0


class _Planned(NamedTuple):
    """Rows of one topic to erase from files of `records`."""

    found: Sequence[tuple[StoredFile, FoundRows]]
    records: pa.Table
    places: ErasedPlaces
    searched: int

    @property
    def erased(self) -> RemovedSums:
        """Return the sums over all records that the plan erases."""
        return reduce(
            RemovedSums.plus, (each.erased for each in self.places.ranges), NOTHING_REMOVED
        )


@dataclass(slots=True)
class RecordsEraser:
    """Eraser of rows of `records`.

    Attributes:
        fenced: sources and topics in which active runs can no longer commit.
        fenced_at_ms: time by the storage's clock, taken just before the last commit of the first
            source; None until then. Uncommitted files older than this can no longer be committed.
        replaced: in a dry run, the files of `records` that have requested rows.
    """

    rules: RuleStore
    others: OtherTables
    fenced: set[Owner] = field(default_factory=set)
    fenced_at_ms: int | None = None
    replaced: list[StoredFile] = field(default_factory=list)

    def of_source(self, source_id: str, topics: Sequence[str]) -> list[ErasedTopic]:
        """Erase the requested records of a source; return the outcome for each topic.

        Raises:
            SeglakeError: other runs kept committing first.
        """
        context = replace(self.others.run, source_id=source_id)
        done: dict[str, ErasedTopic] = {}
        due = list(topics)
        for _ in range(_MOST_ROUNDS):
            generations, rows = delta_commit.published(
                context.tables,
                source_id,
                due,
                lambda _: context.tables.ledger(source_id).to_pylist(),
            )
            ledger = SourceLedger(rows)
            due = [topic for topic in due if topic in ledger.isolations]
            view = view_of(context.tables, RECORDS)
            planned = {topic: self._planned(view, topic, ledger, context) for topic in due}
            earlier = erased_earlier(context, due, ledger)
            places = {t: earlier[t].plus(RecordPlaces.of(planned[t].records)) for t in due}
            # Other tables come first: if the run dies in between, the next run finds the records
            # again.
            for topic in due:
                self.others.erase_placed(topic, places[topic])
            self.fenced |= {Owner(source_id, topic) for topic in due}
            if context.is_dry_run:
                self.replaced += [file for topic in due for file, _ in planned[topic].found]
                return [_outcome(source_id, topic, planned[topic]) for topic in due]
            begun_ms = storage_time_ms(context.storage, context.tables.work_folder)
            lost = self._commit(planned, generations, context)
            committed = sorted(set(due) - set(lost))
            stop_decoding(context, committed)
            for topic in committed:
                done[topic] = _outcome(source_id, topic, planned[topic])
                # Erase again, because another run may have decoded the records meanwhile.
                self.others.erase_placed(topic, places[topic])
            if not lost:
                self.fenced_at_ms = min(begun_ms, self.fenced_at_ms or begun_ms)
                return [done[topic] for topic in sorted(done)]
            recover(context.tables, source_id, lost, after=context.after)
            due = list(lost)
        raise SeglakeError(
            f"{', '.join(sorted(due))}: concurrent runs kept committing first; run again"
        )

    def _planned(
        self, view: TableView, topic: str, ledger: SourceLedger, context: RunContext
    ) -> _Planned:
        """Return the rows of a topic to erase, with the files that have them."""
        files = [file for file in view.files if file.topic == topic]
        searched = self.others.search.of(RECORDS, files)
        own = [(file, _of_source(searched[file.path], context.source_id)) for file in files]
        found = [(file, rows) for file, rows in own if len(rows.rows)]
        places = pa.concat_tables([PLACE_SCHEMA.empty_table(), *(rows.places for _, rows in found)])
        requested = self.others.requested
        if requested.condition is not None and found and not context.is_dry_run:
            self.rules.add_records(places, requested.salts)
        return _Planned(found, places, erased_places(places, ledger), len(files))

    def _commit(
        self, planned: Mapping[str, _Planned], generations: Mapping[str, int], context: RunContext
    ) -> Sequence[str]:
        """Commit the new files of all topics; return topics that another run committed first."""
        attempt_id = str(uuid.uuid4())
        stamp = RowStamp(context.source_id, context.run_id, attempt_id)
        now = datetime.now(UTC)
        written = self._rewritten(planned, context)
        waves = []
        for topic, plan in sorted(planned.items()):
            generation = generations[topic] + 1
            ledger = [
                ledger_columns(each.key, generation, attempt_id, now, context)
                | erased_row(each.offsets, each.generation, each.erased)
                for each in plan.places.ranges
            ]
            gaps = [
                gap_row(key, *span, GapCause.ERASED, None, stamp) for key, span in plan.places.gaps
            ]
            files = [*written[topic]]
            if gaps:
                files += write_rows(context, GAPS, topic, GAPS.to_arrow(gaps))
            if ledger:
                files += write_ledger(context, topic, ledger)
            removed = tuple(file.removed for file, _ in plan.found)
            waves.append(TopicWave(topic, generation, tuple(files), removed))
        if not waves:
            return ()
        attempt = context.attempt(attempt_id)
        return commit_wave(context.tables, attempt, waves, after=context.after).lost

    def _rewritten(
        self, planned: Mapping[str, _Planned], context: RunContext
    ) -> dict[str, list[DataFile]]:
        """Rewrite files without the requested rows; return the new files by topic."""
        named = [(topic, each) for topic, plan in planned.items() for each in plan.found]
        found = [(file, rows.rows) for _, (file, rows) in named]
        files = rewritten(context, RECORDS, found)
        done = grouped((topic, new) for (topic, _), new in zip(named, files, strict=True) if new)
        return {topic: done.get(topic, []) for topic in planned}


def _of_source(found: FoundRows, source_id: str) -> FoundRows:
    """Return the rows of one source; a compacted file may have rows of several sources."""
    sources = found.places.column("source_id").to_pylist()
    mask = pa.array([source == source_id for source in sources], pa.bool_())
    return FoundRows(found.rows[mask.to_numpy(zero_copy_only=False)], found.places.filter(mask))


def _outcome(source_id: str, topic: str, plan: _Planned) -> ErasedTopic:
    return ErasedTopic(
        topic=topic,
        source_id=source_id,
        erased=plan.erased,
        files=len(plan.found),
        size_bytes=sum(file.size_bytes for file, _ in plan.found),
        read_files=plan.searched,
    )
