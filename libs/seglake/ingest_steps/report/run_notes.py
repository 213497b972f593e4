"""Notes of an ingest: facts that need no action."""

from collections.abc import Iterable, Iterator

from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.report.erased import erased_notes
from seglake.ingest_steps.report.gap_report import GapsByPlace
from seglake.ingest_steps.report.refills import older_copies_note
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.ingest_steps.rounds import Round
from seglake.printable import show_count
from seglake.segment_codec.formats.aiven_tier.manifest import parse_manifest


def notes_of(facts: RunFacts, gaps: GapsByPlace) -> list[str]:
    """Return the notes of a run: facts that need no action."""
    notes = [*facts.notes, *facts.discovery.notes]
    if not any(map(facts.context.settings.select.selects_topic, facts.discovery.topics)):
        notes.append(_nothing_selected(facts))
    for done in facts.rounds:
        notes += done.notes
        notes += [note for partition in done.same for note in partition.bounds.notes]
        notes += [note for result in done.committed for note in _zero_tails(result)]
    unproved = _unproved_offsets(facts.rounds, None if facts.context.is_dry_run else gaps)
    older = older_copies_note(facts.repairs.left_offsets)
    notes += erased_notes([*facts.committed, *facts.repairs.results])
    notes += [*unproved, *facts.repairs.notes, *older, *_whole_batches(facts)]
    return [*notes, *_unneeded_keys(facts)]


def _whole_batches(facts: RunFacts) -> Iterator[str]:
    """If the run has ranges to ingest, yield notes that a time window selects whole batches."""
    select = facts.context.settings.select
    if not any(done.ranges for done in facts.rounds):
        return
    if select.from_timestamp is not None:
        yield (
            "--from-timestamp selects whole batches: older records in a partition's first batch,"
            " and in later ones whose times are out of order, are ingested too"
        )
    if select.to_timestamp is not None:
        yield (
            "--to-timestamp selects whole batches: the first batch that reaches that time, and all"
            " later ones, are not ingested, even if some of their records are older"
        )


def _unneeded_keys(facts: RunFacts) -> Iterator[str]:
    """Yield a note if a run has read segments of a tier, and none of them needs a given key."""
    keys = facts.context.settings.tier_policy.key_paths
    read = [
        file.remote.manifest
        for done in facts.rounds
        for partition in done.same
        for file in partition.surveyed_segments
        if file.remote is not None and file.remote.manifest is not None
    ]
    if keys and read and not any(parse_manifest(content).encryption for content in read):
        ids = ", ".join(sorted(key_id for key_id, _ in keys))
        yield f"no segment that this run has read needs a given key ({ids}): none is encrypted"


def _unproved_offsets(rounds: Iterable[Round], gaps: GapsByPlace | None) -> list[str]:
    """Return the note that offsets next to holes may be wrong, because no checksum covers them.

    Args:
        rounds: the rounds of the run.
        gaps: recorded gaps, which confirm the holes between headers; None for a dry run.
    """
    found = {
        partition.key
        for done in rounds
        for partition in done.same
        if any(survey.hole_count for survey in partition.surveys)
        if gaps is None or any(str(partition.key) in of_cause for of_cause in gaps.values())
    }
    if not found:
        return []
    return [
        f"holes between batches are normal in {show_count(len(found), 'compacted partition')}; "
        "but no checksum proves the offsets of the batches next to a hole"
    ]


def _nothing_selected(facts: RunFacts) -> str:
    if not facts.discovery.topics:
        return "the sources have no topic"
    globs = ", ".join(facts.context.settings.select.topics)
    if globs:
        return f"no topic of the sources is selected by {globs}"
    return "the sources have only Kafka's internal topics"


def _zero_tails(result: RangeResult) -> list[str]:
    return [
        f"{tail.segment} ends in {show_count(tail.size_bytes, 'zero byte')} at position "
        f"{tail.position}: padding, so nothing is lost"
        for report in result.reports
        for tail in report.tails
    ]
