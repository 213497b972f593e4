"""The SQL that all views begin with which need the topic ids of older rows."""

# Rows written before a topic's id was known belong to the first id that is known.
FIRST_IDS = """\
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
)"""
