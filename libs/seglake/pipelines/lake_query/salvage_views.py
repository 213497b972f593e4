"""The view of salvaged records whose damage is not repaired. In Spark and in DuckDB."""

import textwrap

from seglake.pipelines.lake_query.current_views import BATCH, RECORD, current

# Repaired damage has a second row in `quarantine`, of a later commit. A repair may also fill only
# some of the offsets between two sound batches, and resolve none of the damage there.
CURRENT_SALVAGED_RECORDS = f"""\
WITH standing AS (
{textwrap.indent(current("salvaged_records", RECORD), "  ")}
),
resolved AS (
  SELECT source_id, topic, partition, broker_id, segment, position, raw_sha256,
         max(generation) AS resolved_by
  FROM quarantine
  WHERE resolution IS NOT NULL
  GROUP BY source_id, topic, partition, broker_id, segment, position, raw_sha256
),
sound AS (
{textwrap.indent(current("batches", BATCH), "  ")}
)
SELECT standing.*
FROM standing
ANTI JOIN resolved
  ON resolved.source_id = standing.source_id
 AND resolved.topic = standing.topic
 AND resolved.partition = standing.partition
 AND resolved.broker_id IS NOT DISTINCT FROM standing.broker_id
 AND resolved.segment = standing.segment
 AND resolved.position = standing.position
 AND resolved.raw_sha256 = standing.raw_sha256
 AND resolved.resolved_by >= standing.generation
ANTI JOIN sound
  ON sound.source_id = standing.source_id
 AND sound.topic = standing.topic
 AND sound.partition = standing.partition
 AND coalesce(sound.topic_id = standing.topic_id, true)
 AND sound.base_offset <= standing.offset
 AND sound.last_offset >= standing.offset"""
