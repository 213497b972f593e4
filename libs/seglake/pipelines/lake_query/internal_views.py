"""Views and queries of the current state in internal topics."""

from seglake.lake.tables import CLUSTER_METADATA
from seglake.pipelines.lake_query.current_views import FIRST_IDS, current, internal

_METADATA_COLUMNS = ", ".join(CLUSTER_METADATA.schema.names)

# A group's records all lie in one partition, so their offsets tell the newest. Rows written before
# the id of the internal topic was known belong to the first id that is known.
GROUP_OFFSETS = f"""\
{FIRST_IDS},
current_rows AS (
{current("consumer_offsets", internal("__consumer_offsets"))}
),
ranked AS (
  SELECT current_rows.*, row_number() OVER (
    PARTITION BY current_rows.source_id, coalesce(record_topic_id, first_id), group_id,
                 current_rows.topic, partition
    ORDER BY record_offset DESC) AS place
  FROM current_rows LEFT JOIN first_ids
    ON first_ids.source_id = current_rows.source_id AND first_ids.topic = '__consumer_offsets'
  WHERE kind = 'offset_commit' AND unread_reason IS NULL
)
SELECT source_id, group_id, topic, partition, ranked.offset, leader_epoch, metadata,
       commit_timestamp, commit_timestamp_ms, topic_id, record_topic_id, record_partition,
       record_offset
FROM ranked
WHERE place = 1 AND NOT is_tombstone"""

# Offsets of a snapshot count from its own start; it belongs to the log start.
_METADATA_OFFSET = "CASE WHEN {table}.snapshot IS NULL THEN {table}.record_offset ELSE 0 END"

# What stands between the begin of a transaction and its abort, or behind a begin without an end,
# never happened. No transaction reaches into or out of a snapshot.
SETTLED_METADATA = f"""\
WITH current_rows AS (
{current("cluster_metadata", internal("__cluster_metadata", _METADATA_OFFSET))}
),
marked AS (
  SELECT *, CASE WHEN record_type IN ('begin_transaction', 'end_transaction', 'abort_transaction')
              THEN record_offset END AS marker_offset
  FROM current_rows
),
placed AS (
  SELECT *,
         max_by(record_type, marker_offset) OVER (
           PARTITION BY source_id, record_topic_id, snapshot ORDER BY record_offset
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS marker_before,
         min_by(record_type, marker_offset) OVER (
           PARTITION BY source_id, record_topic_id, snapshot ORDER BY record_offset
           ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS marker_behind
  FROM marked
)
SELECT {_METADATA_COLUMNS}
FROM placed
WHERE marker_offset IS NULL AND record_type IS NOT NULL
  AND (coalesce(marker_before, '') <> 'begin_transaction'
       OR coalesce(marker_behind, '') = 'end_transaction')"""

NEWEST_BOUND = "SELECT max_by(upper_bound, committed_at) AS upper_bound FROM checkpoints"
"""Query of the upper bound of the newest run that committed."""

INTERNAL_LOGS = """\
SELECT seen.topic, seen.partition, seen.next_offset, seen.log_end_offset,
       count(damage.cause) AS gaps
FROM last_observations AS seen LEFT JOIN current_gaps AS damage
  ON damage.source_id = seen.source_id
 AND damage.topic = seen.topic
 AND damage.partition = seen.partition
 AND damage.cause IN ('quarantined', 'missing')
WHERE seen.topic IN ({topics})
GROUP BY seen.source_id, seen.topic_id, seen.topic, seen.partition, seen.next_offset,
         seen.log_end_offset
ORDER BY seen.topic, seen.partition"""
"""Query of the newest observation of each log of `{topics}`, and its number of damage gaps."""
