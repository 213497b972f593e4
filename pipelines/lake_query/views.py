"""The views over the tables, as SQL that runs wherever the tables have their own names.

`script()` is the same text as conf/views.sql, for registering them elsewhere; a test compares them.
"""

import re
from collections.abc import Iterable, Mapping

from pipelines.lake_query.internal_views import GROUP_OFFSETS, SETTLED_METADATA
from pipelines.lake_query.record_views import READABLE_RECORDS, SETTLED_RECORDS

# Rows written before a topic's id was known belong to the first id that is known.
_FIRST_IDS = """\
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
)"""

LAST_OFFSETS = f"""\
{_FIRST_IDS},
ranges AS (
  SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
         start_offset, next_offset
  FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
  WHERE kind = 'ingest'
),
reached AS (
  SELECT *, coalesce(max(next_offset) OVER (
    PARTITION BY source_id, topic_id, topic, partition
    ORDER BY start_offset, next_offset
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached_before
  FROM ranges
),
joined AS (
  SELECT *, sum(CAST(start_offset > reached_before AS INT)) OVER (
    PARTITION BY source_id, topic_id, topic, partition
    ORDER BY start_offset, next_offset
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS breaks_before
  FROM reached
)
SELECT source_id, topic_id, topic, partition,
       max(CASE WHEN breaks_before = 0 THEN next_offset END) AS next_offset,
       max(CASE WHEN next_offset > start_offset THEN next_offset - 1 END) AS max_covered_offset
FROM joined
GROUP BY source_id, topic_id, topic, partition"""

# A gap has no generation of its own: it is that of the ledger's range that holds its start and was
# written by the same attempt.
CURRENT_GAPS = f"""\
{_FIRST_IDS},
ledger AS (
  SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition, kind,
         start_offset, next_offset, generation, attempt_id
  FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
),
found AS (
  SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
         start_offset, next_offset, cause, detail, run_id, attempt_id
  FROM gaps LEFT JOIN first_ids USING (source_id, topic)
),
dated AS (
  SELECT found.source_id, found.topic_id, found.topic, found.partition, found.start_offset,
         found.next_offset, found.cause, found.detail, found.run_id, found.attempt_id,
         max(CASE WHEN ledger.attempt_id = found.attempt_id THEN ledger.generation END)
           AS generation,
         max(CASE WHEN ledger.kind = 'repair' THEN ledger.generation END) AS repair_generation
  FROM found LEFT JOIN ledger
    ON ledger.source_id = found.source_id
   AND ledger.topic_id <=> found.topic_id
   AND ledger.topic = found.topic
   AND ledger.partition = found.partition
   AND ledger.start_offset <= found.start_offset
   AND found.start_offset < ledger.next_offset
  GROUP BY ALL
)
SELECT source_id, topic_id, topic, partition, start_offset, next_offset, cause, detail, run_id,
       attempt_id
FROM dated
WHERE repair_generation IS NULL OR repair_generation <= generation"""

VIEWS: Mapping[str, str] = {
    "last_offsets": LAST_OFFSETS,
    "current_gaps": CURRENT_GAPS,
    "settled_records": SETTLED_RECORDS,
    "readable_records": READABLE_RECORDS,
    "group_offsets": GROUP_OFFSETS,
    "settled_metadata": SETTLED_METADATA,
}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def topic_views(topics: Iterable[str]) -> dict[str, str]:
    """One view per topic: `topic_` and its name, with `_` for what SQL names cannot hold.

    Where names are equal but for case the later topic, in the order of names, gets `_2`, `_3` and
    so on.
    """
    views: dict[str, str] = {}
    taken: set[str] = set()
    for topic in sorted(set(topics)):
        name = base = f"topic_{_NOT_IN_NAMES.sub('_', topic)}"
        count = 1
        while name.casefold() in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name.casefold())
        literal = topic.replace("\\", "\\\\").replace("'", "\\'")
        views[name] = f"SELECT * FROM records WHERE topic = '{literal}'"
    return views


def script() -> str:
    """Statements that create the views beside tables named records, gaps and so on."""
    head = "-- seglake's views; run where the tables are registered under their own names.\n"
    statements = (f"CREATE OR REPLACE VIEW {name} AS\n{text};\n" for name, text in VIEWS.items())
    return "\n".join((head, *statements))
