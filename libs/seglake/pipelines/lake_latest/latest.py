"""Steps of `seglake latest`: find a topic's new records, and commit the newest of each key.

A topic of a cluster is updated in one commit, completely or not at all. A run that dies before the
commit leaves unreferenced files.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.lake.app_versions import app_id
from seglake.lake.commit_protocol import no_hook
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.lake_opening import opened_to_commit
from seglake.lake.latest_tables import (
    FENCE_APP,
    LatestTable,
    create_latest,
    latest_table,
    latest_tables,
    places_as_info,
    read_places,
)
from seglake.lake.log_growth import LogPlace, place_of
from seglake.lake.tables import BATCHES, CHECKPOINTS, RECORDS
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.ledger_digest import LedgerDigest
from seglake.pipelines.lake_latest.latest_commit import LatestCommit
from seglake.pipelines.lake_latest.latest_plan import LatestWork, work_of
from seglake.pipelines.lake_latest.latest_rows import LatestRows
from seglake.pipelines.lake_latest.latest_summary import LatestSummary, PlannedState, TopicState
from seglake.progress.run_reporter import RunReporter
from seglake.proof.engines import DuckDBProof
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection
from seglake.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestContext:
    """Context of a run of `latest`: storage, settings, and how it is done.

    Attributes:
        settings: settings that select topics; by default, the topics that have a table.
        spill_folder: folder for data that exceeds the memory.
        rebuild: whether to compute all rows from all records.
        is_dry_run: whether only to report what would be done.
        run_id: label of the run, in its commits.
        after: called with the name of each step, for tests that stop there.
    """

    storage: Storage
    settings: Settings
    reporter: RunReporter
    spill_folder: str
    rebuild: bool = False
    is_dry_run: bool = False
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    after: Callable[[str], None] = no_hook


def latest(lake: str, context: LatestContext) -> LatestSummary:
    """Update the tables of latest state, and create tables for newly selected topics.

    It may run beside ingests, readers, and another run of its kind.

    Args:
        lake: the lake's path or URI.
        context: the context of the run; the caller closes its reporter.

    Raises:
        LakeFolderError, UnsafeStoreError, WrongCallError: a wrong call; nothing was touched.
        SeglakeError: the lake or the engine failed; run it again.
    """
    started = time.monotonic()
    settings = context.settings
    tables = opened_to_commit(
        lake,
        context.storage,
        is_single_writer=settings.write.single_writer,
        dry_run=context.is_dry_run,
    )
    ledger = LedgerDigest(tables)
    sources = _sources(ledger, tables, settings.source.source_id)
    summary = LatestSummary(
        context.run_id, tables.lake_path, context.is_dry_run, is_rebuild=context.rebuild
    )
    topics = _topics(ledger, tables, settings, summary)
    run = _Run(context, tables, ledger, summary)
    for topic in topics:
        run.of_topic(topic, sources)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _sources(ledger: LedgerDigest, tables: LakeTables, source_id: str | None) -> list[str]:
    """Return all clusters of a lake, or the one with this id."""
    if source_id is None:
        return sorted(ledger.sources())
    return LakeSources(tables).selected(source_id)


def _topics(
    ledger: LedgerDigest, tables: LakeTables, settings: Settings, summary: LatestSummary
) -> list[str]:
    """Return the topics whose tables to update; report problems of the selection.

    Raises:
        WrongCallError: no topic is selected; or there is no selection, and no topic has a table.
    """
    if not settings.select.topics:
        if found := [each.topic for each in latest_tables(tables)]:
            return found
        raise WrongCallError("the lake has no table of latest state: name topics with --topics")
    there = sorted({row["topic"] for each in ledger.sources() for row in ledger.rows(each)})
    unmatched = check_selection(there, settings.select, place="lake")
    summary.findings.add_reasons(FindingKind.LEFT_OUT, unmatched.missing)
    summary.findings.add_texts(FindingKind.NOTE, unmatched.notes)
    return [topic for topic in there if settings.select.selects_topic(topic)]


class _Run(NamedTuple):
    context: LatestContext
    tables: LakeTables
    ledger: LedgerDigest
    summary: LatestSummary

    def of_topic(self, topic: str, sources: Sequence[str]) -> None:
        """Update the table of a topic, cluster by cluster."""
        made = latest_table(topic)
        there = self.tables.has(made.table)
        works = [*self._works(made, sources, there=there)]
        if not works:
            self.summary.unchanged.append(topic)
        elif self.context.is_dry_run:
            self.summary.planned += [_planned(work) for work in works]
        else:
            create_latest(self.tables, topic)
            self.context.after("table")
            for work in works:
                self._of_work(work)

    def _works(
        self, made: LatestTable, sources: Sequence[str], *, there: bool
    ) -> Iterator[LatestWork]:
        """Yield the commits of a topic that its table lacks, cluster by cluster."""
        for source_id in sources:
            app = app_id(source_id, made.topic)
            published = self.tables.state(CHECKPOINTS).generation(app)
            applied = self.tables.state(made.table).generation(app) if there else 0
            if applied > published and not self.context.rebuild:
                self._leave_out(
                    made.topic,
                    f"{made.table.name} is newer than the lake, which may have been restored; use"
                    " --rebuild",
                )
                continue
            # The ledger is read after the generation, so it has all rows up to it.
            work = work_of(
                made,
                source_id,
                self.ledger.rows(source_id),
                applied=applied,
                published=published,
                rebuild=self.context.rebuild,
            )
            if work is not None:
                yield work

    def _of_work(self, work: LatestWork) -> None:
        """Find the newest record of each key of a topic in one cluster; commit these records."""
        context, name = self.context, work.latest.table.name
        context.reporter.step(f"reading new records of {work.topic}")
        if not work.is_rebuilt:
            refuse_foreign_changes(self.tables, [work.latest.table])
        fence = self.tables.state(work.latest.table).generation(FENCE_APP)
        places = self._places(work)
        with DuckDBProof(
            self.tables,
            [work.topic],
            spill_folder=context.spill_folder,
            is_small=False,
            keeps_join_order=True,
        ) as proof:
            known = read_places(self.tables, work.latest.table, work.source_id)
            rows = LatestRows(proof, self.tables, work, known)
            new = rows.find()
            context.after("rows")
            context.reporter.step(f"merging into {name}")
            counts = LatestCommit(
                tables=self.tables,
                work=work,
                rows=rows,
                fence=fence,
                write=context.settings.write,
                commit_info={"run_id": context.run_id, **places_as_info(work.source_id, places)},
                after=context.after,
            ).run()
        context.after(name)
        if counts is None:
            self._leave_out(work.topic, "another run was faster; run again")
            return
        self.summary.topics.append(
            TopicState(
                source_id=work.source_id,
                topic=work.topic,
                table=name,
                records=new.records,
                without_key=new.without_key,
                inserted=counts.inserted,
                updated=counts.updated,
                removed=counts.removed,
                computed_anew=len(new.whole),
            )
        )

    def _leave_out(self, topic: str, reason: str) -> None:
        """Report a topic whose table is not updated."""
        self.summary.findings.add_reasons(FindingKind.LEFT_OUT, {topic: f"{topic}: {reason}"})

    def _places(self, work: LatestWork) -> dict[str, LogPlace]:
        """Return the versions of the lake's tables up to which this run has read their files.

        The versions are unknown if a table has rows of a commit that is not published yet.
        """
        app, found = app_id(work.source_id, work.topic), {}
        for table in (RECORDS, BATCHES):
            state = self.tables.state(table)
            place = place_of(self.tables, table, state.version)
            if place is None or state.generation(app) != work.published:
                return {}
            found[table.name] = place
        return found


def _planned(work: LatestWork) -> PlannedState:
    return PlannedState(
        source_id=work.source_id,
        topic=work.topic,
        table=work.latest.table.name,
        commits=max(0, work.published - work.applied),
        computed_anew=len(work.whole),
    )
