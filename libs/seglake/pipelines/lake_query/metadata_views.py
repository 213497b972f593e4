"""Views of KRaft's current metadata: topics' configs, and the leader of each partition."""

from seglake.pipelines.lake_query.record_views import Dialect

# A snapshot is the whole state at its end offset, and stands for every record below it, unless
# some of it cannot be read. Topic ids are never used twice.
_TOPICS = """\
WITH positioned AS (
  SELECT *,
         CASE WHEN snapshot IS NULL THEN record_offset + 1
              ELSE CAST(substr(snapshot, 1, 20) AS BIGINT) END AS position
  FROM settled_metadata
),
whole_snapshots AS (
  SELECT source_id, snapshot, max(position) AS end_offset
  FROM positioned
  WHERE snapshot IS NOT NULL
  GROUP BY source_id, snapshot
  HAVING count(*) = count(record_offset)
),
starts AS (
  SELECT source_id, max(end_offset) AS start_offset FROM whole_snapshots GROUP BY source_id
),
state AS (
  SELECT positioned.*, row_number() OVER (
    PARTITION BY positioned.source_id
    ORDER BY position, snapshot NULLS FIRST, record_offset) AS place
  FROM positioned LEFT JOIN starts ON starts.source_id = positioned.source_id
  WHERE start_offset IS NULL OR position > start_offset
     OR position = start_offset AND snapshot IS NOT NULL
),
topics AS (
  SELECT source_id, topic_id, max(topic) AS topic,
         max(CASE WHEN record_type = 'remove_topic' THEN place END) AS removed_at
  FROM state
  WHERE record_type IN ('topic', 'remove_topic')
  GROUP BY source_id, topic_id
)"""

TOPIC_CONFIGS = f"""\
{_TOPICS},
removals AS (
  SELECT source_id, topic, max(removed_at) AS removed_at FROM topics GROUP BY source_id, topic
),
ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, topic, name ORDER BY place DESC) AS age
  FROM state
  WHERE record_type = 'config' AND resource_type = 'topic'
)
SELECT ranked.source_id, ranked.topic, topics.topic_id, name, value,
       record_timestamp AS changed_at
FROM ranked
JOIN topics
  ON topics.source_id = ranked.source_id
 AND topics.topic = ranked.topic
 AND topics.removed_at IS NULL
JOIN removals ON removals.source_id = ranked.source_id AND removals.topic = ranked.topic
WHERE age = 1 AND value IS NOT NULL
  AND (removals.removed_at IS NULL OR place > removals.removed_at)"""


_NEWEST = """\
newest AS (
  SELECT source_id, topic_name, topic_id, partition,
         max_by(leader, CASE WHEN leader IS NOT NULL THEN place END) AS leader,
         max_by(leader, CASE WHEN leader >= 0 THEN place END) AS last_leader,
         CAST(max(leader_epoch) + count(CASE WHEN is_change THEN leader END) AS INT)
           AS leader_epoch,
         CAST(max(partition_epoch) + count(CASE WHEN is_change THEN 1 END) AS INT)
           AS partition_epoch,
         max_by(replicas, CASE WHEN replicas IS NOT NULL THEN place END) AS replicas,
         max_by(isr, CASE WHEN isr IS NOT NULL THEN place END) AS isr,
         max_by(elr_text, CASE WHEN elr_text IS NOT NULL THEN place END) AS elr_text,
         max(CASE WHEN elr_text IS NOT NULL THEN place END) AS elr_at,
         max_by(last_text, CASE WHEN last_text IS NOT NULL THEN place END) AS last_text,
         max(CASE WHEN last_text IS NOT NULL THEN place END) AS last_at,
         max(record_timestamp) AS changed_at
  FROM changes
  WHERE begun_at IS NULL OR place >= begun_at
  GROUP BY source_id, topic_name, topic_id, partition
),
cleared AS (
  SELECT newest.source_id, newest.topic_id, newest.partition, max(place) AS cleared_at
  FROM newest JOIN state
    ON state.source_id = newest.source_id
   AND state.record_type = 'clear_elr'
   AND coalesce(nullif(state.topic, ''), topic_name) = topic_name
  GROUP BY newest.source_id, newest.topic_id, newest.partition
)"""


def partition_leaders(dialect: Dialect) -> str:
    """Return the newest state of each partition, as `kafka-topics --describe` shows it.

    A change names only what it changes. It raises the partition's epoch by one, and the leader's
    if it names a leader (`PartitionRegistration.merge`). A clean stop of the last broker leaves a
    partition without a leader: `last_leader` is the broker that had it before.
    """
    elr = dialect.json_text("detail", "eligibleLeaderReplicas")
    last_known = dialect.json_text("detail", "lastKnownElr")
    is_set = "CASE WHEN {0}_at > coalesce(cleared_at, 0) THEN {0}_text ELSE '[]' END"
    return f"""\
{_TOPICS},
changes AS (
  SELECT state.*, record_type = 'partition_change' AS is_change, topics.topic AS topic_name,
         {elr} AS elr_text, {last_known} AS last_text,
         max(CASE WHEN record_type = 'partition' THEN place END) OVER (
           PARTITION BY state.source_id, state.topic_id, state.partition) AS begun_at
  FROM state JOIN topics
    ON topics.source_id = state.source_id
   AND topics.topic_id = state.topic_id
   AND topics.removed_at IS NULL
  WHERE record_type IN ('partition', 'partition_change')
),
{_NEWEST}
SELECT newest.source_id, topic_name AS topic, newest.topic_id, newest.partition,
       CASE WHEN leader >= 0 THEN leader END AS leader, last_leader, leader_epoch, replicas, isr,
       {dialect.ints(is_set.format("elr"))} AS elr,
       {dialect.ints(is_set.format("last"))}
         AS last_known_elr,
       partition_epoch, changed_at
FROM newest LEFT JOIN cleared
  ON cleared.source_id = newest.source_id
 AND cleared.topic_id = newest.topic_id
 AND cleared.partition = newest.partition"""
