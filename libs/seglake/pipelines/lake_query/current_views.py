"""The views that tell rows that count from rows that lost an election. In Spark and in DuckDB.

A row of the ledger of kind `superseded` takes its offsets away from all rows of the partition with
a smaller generation. There are few of them, mostly none: joins against them broadcast.
"""

from typing import NamedTuple

# Rows written before a topic's id was known belong to the first id that is known.
FIRST_IDS = """\
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
)"""
"""Beginning of all views that need the topic ids of older rows."""

SUPERSEDED_RANGES = f"""\
{FIRST_IDS}
SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
       start_offset, next_offset, records, batches, leader_epoch, run_id, committed_at, generation,
       coalesce(topic_id = first_id, true) AS holds_null_ids
FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
WHERE kind = 'superseded'"""


class _Place(NamedTuple):
    """The columns of a table by which its rows belong to a partition's log."""

    topic: str = "{table}.topic"
    topic_id: str = "{table}.topic_id"
    partition: str = "{table}.partition"
    offset: str = "{table}.offset"


BATCH = _Place(offset="{table}.base_offset")
RECORD = _Place()


def internal(topic: str, offset: str = "{table}.record_offset") -> _Place:
    """Return the place of a decoded table."""
    return _Place(f"'{topic}'", "{table}.record_topic_id", "{table}.record_partition", offset)


def current(table: str, place: _Place) -> str:
    """Return the rows of a table that no election went against."""
    return _joined("ANTI", table, place)


def _joined(join: str, table: str, place: _Place) -> str:
    topic, topic_id, partition, offset = (column.format(table=table) for column in place)
    return f"""\
SELECT /*+ BROADCAST(superseded_ranges) */ {table}.*
FROM {table} {join} JOIN superseded_ranges
  ON superseded_ranges.source_id = {table}.source_id
 AND superseded_ranges.topic = {topic}
 AND superseded_ranges.partition = {partition}
 AND (superseded_ranges.topic_id = {topic_id}
      OR {topic_id} IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= {offset}
 AND superseded_ranges.next_offset > {offset}
 AND superseded_ranges.generation > {table}.generation"""


CURRENT_RECORDS = current("records", RECORD)
SUPERSEDED_RECORDS = _joined("SEMI", "records", RECORD)
