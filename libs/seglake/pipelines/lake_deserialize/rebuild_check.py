"""Finds the topics whose typed rows a rebuild would drop and could not write again."""

from collections.abc import Iterable, Mapping

from seglake.lake.delta_tables import LakeTables
from seglake.lake.value_tables import TYPED_CHECKPOINTS
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.pipelines.lake_deserialize.topic_plan import (
    NotTyped,
    SchemasUnknown,
    TopicFacts,
    form_of,
    works_of,
)
from seglake.pipelines.lake_deserialize.topic_surveys import TopicSurveys
from seglake.value_codec.schema_readers import SchemaReaders


def lost_by_rebuild(
    tables: LakeTables,
    surveys: TopicSurveys,
    source: LakeRegistry,
    topics: Iterable[str],
    subjects: Mapping[str, str],
) -> dict[str, str]:
    """Return the topics with typed rows that a first run would leave out, each with the reason.

    Args:
        tables: the lake.
        surveys: runs the tasks that survey all records of the topics.
        source: a registry and the ledger of its cluster; other clusters are ignored.
        topics: topics of the cluster.
        subjects: subjects that a person names, by `<topic>-<part>`.
    """
    counts = {topic: _typed_rows(tables, source.source_id, topic) for topic in topics}
    standing = {topic: count for topic, count in counts.items() if count}
    every = works_of(source, standing, dict.fromkeys(standing, 0), set())
    # A topic without tasks has no records, for example after retention, so it has no typed rows.
    pairs = [(work, tasks) for work in every if (tasks := surveys.rows_tasks(work))]
    works, tasks_of = [work for work, _ in pairs], [tasks for _, tasks in pairs]
    readers = SchemaReaders(source.registry)
    found = {}
    for facts in surveys.facts(works, tasks_of, [], subjects):
        topic, reason = facts.work.topic, _reason(facts, readers)
        if reason:
            count = standing[topic]
            rows = "1 typed row stands" if count == 1 else f"{count} typed rows stand"
            found[topic] = f"{topic}: {rows} and {reason}"
    return found


def _typed_rows(tables: LakeTables, source_id: str, topic: str) -> int:
    """Return the number of typed rows of a topic that all runs have committed."""
    found = tables.rows(TYPED_CHECKPOINTS, source_id, ("typed_rows",), topic=topic)
    return sum(row["typed_rows"] for row in found.to_pylist())


def _reason(facts: TopicFacts, readers: SchemaReaders) -> str:
    """Return why a first run would not decode a topic, or ""."""
    try:
        form_of(facts, readers)
    except SchemasUnknown:
        return (
            "none of its values names a schema that is known: give the --schemas of the earlier"
            " runs"
        )
    except NotTyped as reason:
        return str(reason) or (
            "its values neither name a schema that is known nor are JSON: give the --schemas and"
            " values.subjects of the earlier runs"
        )
    return ""
