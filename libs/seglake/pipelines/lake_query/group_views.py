"""The view of consumer groups' lag, over the decoded table and the logs' observations."""

import textwrap

from seglake.pipelines.lake_query.current_views import current, internal
from seglake.pipelines.lake_query.record_views import Dialect

_CURRENT_ROWS = textwrap.indent(
    current("consumer_offsets", internal("__consumer_offsets")),
    "  ",
)
# A run may see an older copy after the leader's log: then the ingested rows show the end. Rows that
# lost an election show nothing of the log that won.
_ENDS = """\
lost AS (
  SELECT source_id, topic_id, topic, partition, max(next_offset) AS lost_to
  FROM superseded_ranges
  GROUP BY source_id, topic_id, topic, partition
),
ends AS (
  SELECT seen.source_id, seen.topic_id, seen.topic, seen.partition, seen.high_watermark,
         CASE WHEN lost_to > max_covered_offset THEN seen.log_end_offset
              ELSE greatest(seen.log_end_offset, max_covered_offset + 1) END AS log_end_offset,
         row_number() OVER (
           PARTITION BY seen.source_id, seen.topic, seen.partition
           ORDER BY seen.observed_at DESC, seen.topic_id DESC) AS age
  FROM last_observations AS seen
  LEFT JOIN last_offsets AS taken
    ON taken.source_id = seen.source_id
   AND taken.topic_id IS NOT DISTINCT FROM seen.topic_id
   AND taken.topic = seen.topic
   AND taken.partition = seen.partition
  LEFT JOIN lost
    ON lost.source_id = seen.source_id
   AND lost.topic_id IS NOT DISTINCT FROM seen.topic_id
   AND lost.topic = seen.topic
   AND lost.partition = seen.partition
)"""


# A partition of a topic that a group reads has a row without a commit, too.
_COMMITS = """\
committed AS (
  SELECT commits.source_id, group_id, commits.topic, commits.partition,
         commits.offset AS current_offset, ends.log_end_offset, ends.high_watermark,
         leader_epoch, metadata, commit_timestamp, commits.topic_id
  FROM group_offsets AS commits LEFT JOIN ends
    ON ends.source_id = commits.source_id
   AND ends.topic = commits.topic
   AND ends.partition = commits.partition
   AND CASE WHEN commits.topic_id IS NULL OR ends.topic_id IS NULL THEN ends.age = 1
            ELSE ends.topic_id = commits.topic_id END
),
reading AS (
  SELECT DISTINCT source_id, group_id, topic FROM group_offsets
),
everything AS (
  SELECT * FROM committed
  UNION ALL
  SELECT ends.source_id, reading.group_id, ends.topic, ends.partition,
         NULL, ends.log_end_offset, ends.high_watermark, NULL, NULL, NULL, ends.topic_id
  FROM reading JOIN ends ON ends.source_id = reading.source_id AND ends.topic = reading.topic
  ANTI JOIN committed
    ON committed.source_id = ends.source_id
   AND committed.group_id = reading.group_id
   AND committed.topic = ends.topic
   AND committed.partition = ends.partition
  WHERE ends.age = 1
)"""


def group_lag(dialect: Dialect) -> str:
    """Return the lag of each group in each partition, as `kafka-consumer-groups --describe`.

    The log of a commit is that of its topic id; without one, the newest log of the name.
    """
    return f"""\
WITH current_rows AS (
{_CURRENT_ROWS}
),
{_groups(dialect)},
{_ENDS},
{_COMMITS}
SELECT everything.source_id, everything.group_id, topic, partition, current_offset, log_end_offset,
       log_end_offset - current_offset AS lag,
       group_kind, members, leader_epoch, metadata, commit_timestamp, high_watermark, topic_id
FROM everything LEFT JOIN groups
  ON groups.source_id = everything.source_id AND groups.group_id = everything.group_id"""


def _groups(dialect: Dialect) -> str:
    """Return the subqueries that give each group's kind and how many members it has."""
    members = f"json_array_length({dialect.json_text('detail', 'members')})"
    return f"""\
ranked AS (
  SELECT source_id, group_id, kind, detail, is_tombstone, row_number() OVER (
    PARTITION BY source_id, group_id, kind, member_id ORDER BY record_offset DESC) AS place
  FROM current_rows
  WHERE kind IN ('streams_group', 'streams_group_member')
     OR kind IN ('classic_group', 'consumer_group', 'consumer_group_member')
    AND unread_reason IS NULL
),
groups AS (
  SELECT source_id, group_id,
         max(CASE WHEN kind LIKE '%_group' THEN replace(kind, '_group', '') END) AS group_kind,
         CAST(sum(CASE WHEN kind = 'classic_group' THEN {members}
                       WHEN kind LIKE '%_member' THEN 1 ELSE 0 END) AS BIGINT) AS members
  FROM ranked
  WHERE place = 1 AND NOT is_tombstone
  GROUP BY source_id, group_id
)"""
