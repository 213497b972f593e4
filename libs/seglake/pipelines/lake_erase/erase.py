"""Steps of `seglake erase`.

1. The rules are stored. Runs that begin later skip the records.
2. `records` loses its matching rows, in one commit for each cluster. The commit advances the
   generation of every selected topic, also of topics without such rows. So a run that decoded
   before the rules were stored cannot commit any more, and plans again.
3. Commits of decoded values are completed, and runs that decode values lose in the same way.
4. The other tables lose their rows of these records.

Each step can be repeated, so the same call completes a run that died.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.run_context import RunContext, ScanContext, opened_lake
from seglake.lake.delta_commit import recover
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.table_creation import create_missing, upgrade_notes
from seglake.lake.table_view import view_of
from seglake.lake.tables import RECORDS, REQUIRED_TABLES
from seglake.lake.vacuum import kept_for
from seglake.lake.value_recovery import complete_values
from seglake.log_tables.begun_erasures import BegunErasure, begin, begun_erasures, end
from seglake.log_tables.erasure_rules import create_erasures
from seglake.pipelines.lake_erase.condition import Condition, ConditionFailedError
from seglake.pipelines.lake_erase.erasable_topics import erasable_topics
from seglake.pipelines.lake_erase.erase_summary import EraseSummary
from seglake.pipelines.lake_erase.found_rows import Requested
from seglake.pipelines.lake_erase.lifted_rules import lift
from seglake.pipelines.lake_erase.longer_keys import LongerKeys, longer_keys
from seglake.pipelines.lake_erase.other_tables import OtherTables
from seglake.pipelines.lake_erase.purge import purge, tables_with_payload
from seglake.pipelines.lake_erase.records import RecordsEraser
from seglake.pipelines.lake_erase.row_search import RowSearch
from seglake.pipelines.lake_erase.rule_rows import RuleStore


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseChoice:
    """Records to erase, by their key or by a condition, or a run whose rules are lifted.

    Attributes:
        key: bytes of the key, or None.
        where: SQL expression over columns of `records`, or None.
        lift: label of an earlier run whose rules are removed, or None; no record is erased.
        reason: reason of the erasure, stored in clear text.
        drop_undecodable: whether damaged batches that cannot be searched lose their bytes too.
        purges: whether to delete the files of earlier versions at once.

    Raises:
        WrongCallError: there is not exactly one of them.
    """

    key: bytes | None = None
    where: str | None = None
    lift: str | None = None
    reason: str = ""
    drop_undecodable: bool = False
    purges: bool = False

    def __post_init__(self) -> None:
        """Raise WrongCallError unless there is a key, a condition or a run."""
        if sum(each is not None for each in (self.key, self.where, self.lift)) != 1:
            raise WrongCallError(
                "an erasure needs either a key or a condition (--where), or a run to lift (--lift)"
            )

    @property
    def content(self) -> bytes:
        """Return the key, or the text of the condition in UTF-8."""
        return self.key if self.key is not None else (self.where or "").encode()

    def begun(self, run: RunContext, topics: Sequence[str]) -> BegunErasure:
        """Return the erasure of these records from topics, which begins now."""
        flags = (("--drop-undecodable", self.drop_undecodable), ("--purge", self.purges))
        return BegunErasure.of(
            self.content,
            run_id=run.run_id,
            topics=tuple(topics),
            reason=self.reason,
            begun_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            by="--where" if self.key is None else "--key",
            options=tuple(name for name, is_set in flags if is_set),
        )


def erase(lake: str, scan: ScanContext, *, choice: EraseChoice) -> EraseSummary:
    """Erase the chosen records of the selected topics, now and in later runs.

    It may run beside ingests, readers, and other erasures.

    Args:
        lake: the lake's path or URI.
        scan: context with the lake's storage, and with settings that select the topics; the caller
            closes its engine. A dry run only counts, and writes nothing.
        choice: the records.

    Raises:
        WrongCallError: the lake, the topics or the condition is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Earlier commits are kept; run it again.
    """
    started = time.monotonic()
    condition = None if choice.where is None else Condition.of(choice.where)
    tables = opened_lake(lake, scan)
    run = RunContext.begun(scan, tables, "")
    selected = erasable_topics(tables.topics(), scan.settings.select)
    count = len(selected.topics)
    summary = EraseSummary(run.run_id, tables.lake_path, run.is_dry_run, topic_count=count)
    summary.findings.add_reasons(FindingKind.LEFT_OUT, selected.left_out)
    summary.findings.add_texts(FindingKind.NOTE, selected.notes)
    if choice.lift is not None:
        summary.lifted = lift(run, selected.topics, choice.lift)
    else:
        _Erasure.of(run, choice, condition, selected.topics, summary).run_all()
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


class _Erasure(NamedTuple):
    """Erasure of the chosen records from some topics."""

    run: RunContext
    choice: EraseChoice
    topics: Sequence[str]
    begun: BegunErasure
    rules: RuleStore
    others: OtherTables
    summary: EraseSummary

    @classmethod
    def of(
        cls,
        run: RunContext,
        choice: EraseChoice,
        condition: Condition | None,
        topics: Sequence[str],
        summary: EraseSummary,
    ) -> "_Erasure":
        """Prepare an erasure; only the rules are read."""
        rules = RuleStore(run.tables, run_id=run.run_id, reason=choice.reason, after=run.after)
        salts = rules.salts(topics)
        requested = Requested(
            choice.key, condition, salts, with_undecodable=choice.drop_undecodable
        )
        others = OtherTables(RowSearch(requested, run))
        return cls(run, choice, topics, choice.begun(run, topics), rules, others, summary)

    def run_all(self) -> None:
        """Erase the records from all tables, and purge; a dry run only counts."""
        is_repeated = self._is_repeated()
        if self.choice.where is not None:
            self._evaluate_condition()
        if not self.run.is_dry_run:
            self._make_ready()
            begin(self.run.tables, self.begun)
            self.run.after("begun")
        eraser = self._erased()
        self.summary.add_others(self.others)
        self.summary.rules = self.rules.added
        self.summary.kept_until = self._kept_until()
        if not is_repeated or self.choice.key is not None:
            self._look_for_others(is_repeated=is_repeated)
        if self.choice.purges:
            self._purge(eraser)
        if not self.run.is_dry_run and not self.summary.is_purge_incomplete:
            end(self.run.tables, self.begun, self.choice.content)

    def _is_repeated(self) -> bool:
        """Return whether an earlier run stored the rule, or began the same and did not end."""
        key, tables = self.choice.key, self.run.tables
        if key is not None and self.rules.have_key(self.topics, key):
            return True
        content = self.choice.content
        return any(self.begun.includes(each, content) for each in begun_erasures(tables))

    def _evaluate_condition(self) -> None:
        """Search all tables before anything is changed.

        Raises:
            WrongCallError: the condition cannot be evaluated on a record.
        """
        files = view_of(self.run.tables, RECORDS).files
        try:
            self.others.search.of(RECORDS, [file for file in files if file.topic in self.topics])
            self.others.searched_records()
        except ConditionFailedError as error:
            raise WrongCallError(str(error)) from None

    def _make_ready(self) -> None:
        """Upgrade the lake, complete unfinished runs, and create the table of rules."""
        run, summary = self.run, self.summary
        added = create_missing(run.tables, is_single_writer=run.settings.write.single_writer)
        refuse_foreign_changes(run.tables, REQUIRED_TABLES)
        completed = recover(run.tables, None, after=run.after)
        values = complete_values(run.tables, run_id=run.run_id, after=run.after)
        summary.recovered = [*dict.fromkeys((*completed, *values))]
        create_erasures(run.tables)
        summary.findings.add_texts(FindingKind.NOTE, upgrade_notes(added))

    def _erased(self) -> RecordsEraser:
        """Store the rules, and erase the records from all tables; a dry run only counts them."""
        run, choice = self.run, self.choice
        if choice.key is not None and not run.is_dry_run:
            run.reporter.step("storing the rule")
            self.rules.add_key(self.topics, choice.key)
        if choice.where is not None and not run.is_dry_run:
            self.rules.add_records(self.others.searched_records(), self.others.requested.salts)
        eraser = RecordsEraser(self.rules, self.others)
        for source_id in run.tables.source_ids():
            self.summary.topics += eraser.of_source(source_id, self.topics)
        self.others.erase_searched()
        return eraser

    def _kept_until(self) -> datetime | None:
        """Return until when old files of the changed tables are kept; None if none was changed."""
        changed = {each.table for each in self.summary.others}
        if self.summary.records:
            changed.add(RECORDS.name)
        tables = self.run.tables
        kept = [kept_for(tables, t) for t in tables_with_payload(self.run) if t.name in changed]
        return datetime.now(UTC) + max(kept) if kept else None

    def _look_for_others(self, *, is_repeated: bool) -> None:
        """If no table had such a record, note it, and count longer keys that contain the key."""
        if self.summary.has_erased:
            return
        longer = LongerKeys()
        if self.choice.key is not None:
            files = view_of(self.run.tables, RECORDS).files
            own = [file for file in files if file.topic in self.topics]
            longer = longer_keys(self.run, own, self.choice.key)
        if longer.records or not is_repeated:
            self.summary.add_nothing(self.choice.key, longer)

    def _purge(self, eraser: RecordsEraser) -> None:
        """Delete old files; a dry run adds the files that the erasure would replace."""
        fenced_at_ms = eraser.fenced_at_ms
        if self.run.is_dry_run:
            fenced_at_ms = time.time_ns() // 1_000_000
        if fenced_at_ms is None:
            return
        done = purge(self.run, self.topics, eraser.fenced, fenced_at_ms)
        if self.run.is_dry_run:
            done.add(eraser.replaced)
            done.add(file for table in self.others.changed.values() for file in table.files)
        self.summary.add_purged(done)
