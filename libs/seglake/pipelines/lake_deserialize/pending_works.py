"""Finds what a run or a dry run has to decode: the selected topics, and their new attempts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from seglake.lake import delta_commit
from seglake.lake.delta_tables import LakeTables
from seglake.lake.typed_tables import commit_tables, typed_tables
from seglake.lake.value_tables import TYPED_CHECKPOINTS
from seglake.log_tables.named_subjects import check_subjects
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.pipelines.lake_deserialize.topic_plan import TopicWork, works_of
from seglake.settings.settings import SelectSettings
from seglake.settings.topic_selection import Unmatched, check_selection
from seglake.value_decoding.rows_task import Attempt

_DONE = ("topic_id", "partition", "record_generation")


def checked_topics(
    topics: Collection[str],
    sources: Sequence[LakeRegistry],
    select: SelectSettings,
    subjects: Mapping[str, str],
) -> Unmatched:
    """Return the topics that a call names and the lake lacks, each with a reason; and notes.

    Args:
        topics: topics of the lake.
        sources: the registries of the clusters.
        select: selects topics.
        subjects: subjects that a person names, by `<topic>-<part>`.

    Raises:
        WrongCallError: no topic is selected, or a named subject cannot be.
    """
    unmatched = check_selection(topics, select, place="lake")
    check_subjects(
        subjects.items(),
        [each.registry for each in sources],
        lambda topic: topic in topics and select.selects_topic(topic),
    )
    named = {name.rpartition("-")[0] for name in subjects}
    unknown = {
        topic: f"{topic}: values.subjects names it, but the lake has no such topic"
        for topic in sorted(named.difference(topics))
    }
    return unmatched._replace(missing=unmatched.missing | unknown)


def published(tables: LakeTables, source: LakeRegistry, topics: Sequence[str]) -> dict[str, int]:
    """Return the generation that the decoded values of each topic have published."""
    commits_to = commit_tables(typed_tables(tables))
    versions = delta_commit.versions(tables, source.source_id, topics, commits_to=commits_to)
    return {topic: found.publishing for topic, found in versions.items()}


def new_works(
    tables: LakeTables, source: LakeRegistry, generations: Mapping[str, int]
) -> Iterator[TopicWork]:
    """Yield the topics of a cluster that have attempts which are not decoded yet.

    Args:
        tables: the lake.
        source: a registry and the ledger of its cluster.
        generations: the published generation of each topic's decoded values, read before this
            call: a commit in between makes this run's fail.
    """
    done = _done(tables, source.source_id, generations)
    return works_of(source, generations, generations, done)


def _done(tables: LakeTables, source_id: str, topics: Iterable[str]) -> set[tuple[str, Attempt]]:
    """Return the topics and attempts whose rows of `records` are already decoded."""
    if not tables.has(TYPED_CHECKPOINTS):
        return set()
    return {
        (topic, Attempt(row["topic_id"], row["partition"], row["record_generation"]))
        for topic in topics
        for row in tables.rows(TYPED_CHECKPOINTS, source_id, _DONE, topic=topic).to_pylist()
    }
