"""Steps of `seglake erase`.

1. The rules are stored. From then on, runs that begin leave out the records.
2. `records` loses its matching rows, in one commit for each cluster. The commit advances the
   generation of every selected topic, also of topics without such rows. So a run that decoded
   before the rules were stored cannot commit any more, and plans again.
3. Commits of decoded values are completed, and runs that decode values lose in the same way.
4. The other tables lose what they have of these records.

Each step can be repeated, so the same call completes a run that died.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seglake.errors import WrongCallError
from seglake.ingest_steps.run_context import RunContext, ScanContext, opened_lake
from seglake.lake.commit_protocol import no_hook
from seglake.lake.delta_commit import recover
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.table_creation import create_missing, upgrade_notes
from seglake.lake.tables import REQUIRED_TABLES
from seglake.lake.value_recovery import complete_values
from seglake.log_tables.erasure_rules import create_erasures
from seglake.pipelines.lake_erase.condition import Condition
from seglake.pipelines.lake_erase.erase_summary import EraseSummary
from seglake.pipelines.lake_erase.found_rows import Requested
from seglake.pipelines.lake_erase.other_tables import OtherTables
from seglake.pipelines.lake_erase.purge import purge
from seglake.pipelines.lake_erase.records import RecordsEraser
from seglake.pipelines.lake_erase.row_search import RowSearch
from seglake.pipelines.lake_erase.rule_rows import RuleStore
from seglake.settings.topic_selection import check_selection


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseChoice:
    """Records to erase: by their key, or by a condition.

    Attributes:
        key: bytes of the key; None if a condition is given.
        where: SQL expression over columns of `records`; None if a key is given.
        reason: reason of the erasure, stored in clear text.
        drop_undecodable: whether damaged batches that cannot be searched lose their bytes too.

    Raises:
        WrongCallError: there is neither a key nor a condition, or both.
    """

    key: bytes | None = None
    where: str | None = None
    reason: str = ""
    drop_undecodable: bool = False

    def __post_init__(self) -> None:
        """Raise WrongCallError unless there is either a key or a condition."""
        if (self.key is None) == (self.where is None):
            raise WrongCallError("an erasure needs either a key or a condition (--where)")


def erase(
    lake: str,
    scan: ScanContext,
    *,
    choice: EraseChoice,
    purges: bool = False,
    run_id: str | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = no_hook,
) -> EraseSummary:
    """Erase the chosen records of the selected topics, now and in later runs.

    It may run beside ingests, readers, and other erasures.

    Args:
        lake: the lake's path or URI.
        scan: context with the lake's storage, and with settings that select the topics; the caller
            closes its engine.
        choice: the records.
        purges: whether to delete the files of earlier versions at once.
        run_id: label of the run, stored with the rules; made up if None.
        dry_run: whether only to count, and write nothing.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        WrongCallError: the lake, the topics or the condition is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Earlier commits are kept; run it again.
    """
    started = time.monotonic()
    settings = scan.settings
    if not settings.select.topics:
        raise WrongCallError("name the topics from which to erase: --topics")
    condition = None if choice.where is None else Condition.of(choice.where)
    tables = opened_lake(lake, scan, dry_run=dry_run)
    there = tables.topics()
    found = check_selection(there, settings.select, place="lake")
    topics = [topic for topic in there if settings.select.selects_topic(topic)]
    run = RunContext.begun(scan, tables, "", run_id=run_id, after=after, is_dry_run=dry_run)
    summary = EraseSummary(run.run_id, tables.lake_path, dry_run, len(topics))
    summary.add_selection(found.missing, found.notes)
    if not dry_run:
        _make_ready(run, summary)
    fenced_at_ms = _erase(run, topics, choice, condition, summary)
    if purges and fenced_at_ms is not None:
        summary.purged = purge(run, topics, fenced_at_ms)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _make_ready(run: RunContext, summary: EraseSummary) -> None:
    """Upgrade the lake, complete what dead runs left, and make the table of rules."""
    added = create_missing(run.tables, is_single_writer=run.settings.write.single_writer)
    refuse_foreign_changes(run.tables, REQUIRED_TABLES)
    completed = recover(run.tables, None, after=run.after)
    values = complete_values(run.tables, run_id=run.run_id, after=run.after)
    summary.recovered = [*dict.fromkeys((*completed, *values))]
    create_erasures(run.tables)
    summary.notes += upgrade_notes(added)


def _erase(
    run: RunContext,
    topics: Sequence[str],
    choice: EraseChoice,
    condition: Condition | None,
    summary: EraseSummary,
) -> int | None:
    """Store the rules, and erase the records from all tables; a dry run only counts them.

    Returns:
        The time `fenced_at_ms` of `RecordsEraser`, up to which a purge may delete files.
    """
    rules = RuleStore(run.tables, run_id=run.run_id, reason=choice.reason, after=run.after)
    if choice.key is not None and not run.is_dry_run:
        run.reporter.step("storing the rule")
        rules.add_key(topics, choice.key)
    salts = rules.salts(topics)
    requested = Requested(choice.key, condition, salts, with_undecodable=choice.drop_undecodable)
    others = OtherTables(RowSearch(requested, run))
    if condition is not None and not run.is_dry_run:
        rules.add_records(others.searched_records(), requested.salts)
    eraser = RecordsEraser(rules, others)
    for source_id in run.tables.source_ids():
        summary.topics += eraser.of_source(source_id, topics)
    others.erase_searched()
    summary.add_others(others)
    return eraser.fenced_at_ms
