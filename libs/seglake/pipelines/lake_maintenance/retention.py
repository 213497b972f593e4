"""Removes records that are older than `retention.records`, and records this in the ledger.

A topic's expiry is one commit to `records`, `gaps` and `checkpoints`. Afterwards the other tables
are swept; if the run dies before, the next maintenance does it.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.committing.wave import ledger_columns, write_ledger, write_rows
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake import delta_commit
from seglake.lake.delta_commit import commit_wave, recover
from seglake.lake.parquet_files import DataFile
from seglake.lake.removed_rows import Rewritten, newest_removed, total_removed
from seglake.lake.removed_sums import RemovedSums
from seglake.lake.tables import GAPS, RECORDS
from seglake.lake.waves import TopicWave
from seglake.log_tables.current_gaps import GAP_COLUMNS, fillable_gaps, fillable_rows
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_maintenance.expiry_borders import first_young, whole_border
from seglake.pipelines.lake_maintenance.expiry_plan import PartitionExpiry, ledger_rows, planned
from seglake.pipelines.lake_maintenance.expiry_sweep import batch_sums, sweep, without_rows
from seglake.pipelines.lake_maintenance.maintain_summary import ExpiredPartition, MaintainSummary

_MOST_ROUNDS = 20
_MS = 1000


class Retention(NamedTuple):
    """Removal of old records, for the topics of one source.

    Attributes:
        context: the run; its settings have the limits.
        summary: receives what has expired, or would expire, and why topics were left out.
    """

    context: RunContext
    summary: MaintainSummary

    def run(self) -> None:
        """Remove old records of all topics that have a limit, from all tables."""
        ledger = SourceLedger(self.context.ledger.rows(self.context.source_id))
        for topic in ledger.topics:
            if self._limit_ms(topic) is not None:
                borders = self._expire(topic)
                self.summary.add_swept(sweep(topic, self._ledger(), self.context, borders))

    def _limit_ms(self, topic: str) -> int | None:
        """Return the newest time that is too old for a topic's records; None for no limit."""
        settings = self.context.settings
        limit = settings.retention.records_of(topic)
        if limit is None or (settings.select.topics and not settings.select.selects_topic(topic)):
            return None
        return self.context.started_at_us // _MS - int(limit.total_seconds() * _MS) - 1

    def _ledger(self) -> SourceLedger:
        """Return the newest ledger of the source."""
        return SourceLedger(self.context.tables.ledger(self.context.source_id).to_pylist())

    def _expire(self, topic: str) -> Mapping[PartitionKey, int]:
        """Remove a topic's old records; plan again if other runs commit first.

        Returns:
            The new start of each partition that loses records. A dry run does not commit it.
        """
        context = self.context
        for _ in range(_MOST_ROUNDS):
            generations, rows = delta_commit.published(
                context.tables,
                context.source_id,
                [topic],
                lambda source_id: context.tables.ledger(source_id).to_pylist(),
            )
            plans = [*self._planned(topic, SourceLedger(rows))]
            if not plans:
                return {}
            done = self._removed(topic, plans)
            wrong = [reason for plan in plans for reason in _imbalances(plan, done)]
            if wrong:
                return self._left_out(topic, wrong[0])
            # Offsets that the cleaner left without records expire together with the next records.
            removed = total_removed(done)
            plans = [plan for plan in plans if any(part.choice in removed for part in plan.parts)]
            if not plans:
                return {}
            self._note_compaction(topic)
            if context.is_dry_run or self._commit(topic, plans, done, generations[topic] + 1):
                self.summary.add_expired(_outcome(plan, done, context) for plan in plans)
                return {plan.key: plan.offsets[1] for plan in plans}
            recover(context.tables, context.source_id, [topic], after=context.after)
        return self._left_out(topic, "other runs kept committing first; run again")

    def _left_out(self, topic: str, reason: str) -> dict[PartitionKey, int]:
        """Add that nothing of a topic was removed; return no new starts."""
        self.summary.findings.add_reasons(FindingKind.LEFT_OUT, {topic: reason})
        return {}

    def _note_compaction(self, topic: str) -> None:
        """Note that keys may lose their only record, if Kafka has compacted the topic."""
        context = self.context
        rows = context.tables.rows(GAPS, context.source_id, ["topic", "cause"]).to_pylist()
        if {"topic": topic, "cause": str(GapCause.COMPACTED)} in rows:
            note = (
                f"{topic}: Kafka has compacted it, so a key whose only record is too old loses its"
                f" value, also in latest state. To keep it: retention.records.{topic}=off"
            )
            self.summary.findings.add_texts(FindingKind.NOTE, [note])

    def _planned(self, topic: str, ledger: SourceLedger) -> Iterator[PartitionExpiry]:
        """Yield the plan for each partition of a topic that has old records."""
        tables, source_id = self.context.tables, self.context.source_id
        limit_ms = self._limit_ms(topic)
        if limit_ms is None:
            return
        young = first_young(tables, topic, source_id, ledger, limit_ms)
        borders: dict[PartitionKey, int] = {}
        for key in sorted((key for key in ledger.partitions() if key.topic == topic), key=str):
            log = ledger.of(key)
            held_by = young.get(key)
            ends = [held_by.base_offset if held_by else (log.covered or [(0, 0)])[-1][1]]
            ends += [start for start, _ in log.superseded]  # a retake of this range comes first
            border = whole_border(tables, source_id, log, min(ends))
            if border > log.expired_to:
                borders[key] = border
        if not borders:
            return
        pruned = [("start_offset", "<", max(borders.values()))]
        rows = tables.rows(GAPS, source_id, GAP_COLUMNS, pruned_by=pruned)
        gaps = fillable_gaps(fillable_rows(rows), ledger)
        for key, border in borders.items():
            plan = planned(ledger.of(key), source_id, border, young.get(key), gaps.get(key, ()))
            if any(part.sums is None or part.sums.records for part in plan.parts):
                yield plan

    def _removed(self, topic: str, plans: Sequence[PartitionExpiry]) -> list[Rewritten]:
        """Write files of `records` without old rows; count rows of files that lose all."""
        context = self.context
        unknown = {part.choice for plan in plans for part in plan.parts if part.sums is None}
        return without_rows(
            RECORDS,
            [part.choice for plan in plans for part in plan.parts],
            topic,
            context,
            text=f"expiring {topic}",
            needs_sums=unknown.__contains__,
            writes=not context.is_dry_run,
        )

    def _commit(
        self, topic: str, plans: Sequence[PartitionExpiry], done: list[Rewritten], generation: int
    ) -> bool:
        """Commit the expiry of a topic; return False if another run committed first."""
        context, attempt_id = self.context, str(uuid.uuid4())
        stamp = RowStamp(context.source_id, context.run_id, attempt_id)
        now, removed = datetime.now(UTC), total_removed(done)
        ledger = [
            ledger_columns(plan.key, generation, attempt_id, now, context) | row
            for plan in plans
            for row in ledger_rows(plan, removed, batch_sums(plan, context))
        ]
        gaps = [
            gap_row(plan.key, *offsets, GapCause.EXPIRED, earlier, stamp)
            for plan in plans
            for offsets, earlier in plan.gaps
        ]
        files: list[DataFile] = [each.replacement for each in done if each.replacement is not None]
        files += write_rows(context, GAPS, topic, GAPS.to_arrow(gaps))
        files += write_ledger(context, topic, ledger)
        wave = TopicWave(topic, generation, tuple(files), tuple(each.file.removed for each in done))
        attempt = context.attempt(attempt_id)
        return bool(commit_wave(context.tables, attempt, [wave], after=context.after).committed)


def _imbalances(plan: PartitionExpiry, done: Sequence[Rewritten]) -> Iterator[str]:
    """Yield a sentence for each range whose rows in the tables differ from the ledger."""
    removed = total_removed(done)
    for part in plan.parts:
        found = removed.get(part.choice, RemovedSums()).records
        if part.sums is not None and part.sums.records != found:
            span = f"[{part.offsets[0]}, {part.offsets[1]})"
            yield (
                f"{plan.key}: {span} has {found} records and {part.sums.records} in the ledger: "
                "run `seglake audit`"
            )


def _outcome(
    plan: PartitionExpiry, done: Sequence[Rewritten], context: RunContext
) -> ExpiredPartition:
    removed, newest, sums = total_removed(done), newest_removed(done), RemovedSums()
    for part in plan.parts:
        known = part.sums or removed.get(part.choice, RemovedSums())
        sums = sums.plus(known)
    held_ms = None if plan.held_by is None else plan.held_by.timestamp_ms
    now_ms = context.started_at_us // _MS
    return ExpiredPartition(
        source_id=context.source_id,
        topic=plan.key.topic,
        partition=plan.key.partition,
        start_offset=plan.offsets[0],
        next_offset=plan.offsets[1],
        records=sums.records,
        payload_bytes=sums.key_bytes + sums.value_bytes,
        oldest=_iso(plan.oldest_ms),
        newest=_iso(max((newest.get(part.choice, -1) for part in plan.parts), default=None)),
        lost_offsets=sum(stop - start for start, stop in (gap.offsets for gap in plan.lost)),
        first_kept=_iso(held_ms),
        is_held_back=held_ms is not None and (held_ms == -1 or held_ms > now_ms),
    )


def _iso(time_ms: int | None) -> str | None:
    """Return a time as ISO-8601; None if unknown or not in the years 1 to 9999."""
    if time_ms is None or time_ms < 0:
        return None
    try:
        return datetime.fromtimestamp(time_ms / _MS, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
