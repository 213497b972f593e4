"""The views over the ledger: how far each partition was taken, what is not there, the sums of it.

All run in Spark and in DuckDB.
"""

from seglake.pipelines.lake_query.current_views import FIRST_IDS
from seglake.pipelines.lake_query.observation_views import SEEN_BESIDE_TAKEN

# Superseded offsets that the log which won does not reach are free: what was ingested of them by
# earlier commits covers nothing any more.
_COVERED = """\
ledger AS (
  SELECT checkpoints.*, coalesce(topic_id, first_id) AS known_id
  FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
),
covered AS (
  SELECT source_id, known_id AS topic_id, topic, partition, kind, start_offset, next_offset,
         records, generation,
         min(CASE WHEN kind = 'released' THEN start_offset END) OVER (
           PARTITION BY source_id, known_id, topic, partition ORDER BY generation
           RANGE BETWEEN CAST(1 AS BIGINT) FOLLOWING AND UNBOUNDED FOLLOWING) AS free_from
  FROM ledger
)"""

LAST_OFFSETS = f"""\
{FIRST_IDS},
{_COVERED},
ranges AS (
  SELECT source_id, topic_id, topic, partition, start_offset,
         least(next_offset, coalesce(free_from, next_offset)) AS next_offset
  FROM covered
  WHERE kind IN ('ingest', 'retake') AND (free_from IS NULL OR start_offset < free_from)
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
),
taken AS (
  SELECT source_id, topic_id, topic, partition,
         max(CASE WHEN breaks_before = 0 THEN next_offset END) AS next_offset,
         max(CASE WHEN next_offset > start_offset THEN next_offset - 1 END) AS max_covered_offset
  FROM joined
  GROUP BY source_id, topic_id, topic, partition
)
SELECT taken.source_id, taken.topic_id, taken.topic, taken.partition, taken.next_offset,
       max_covered_offset, log_start_offset, high_watermark, last_stable_offset, log_end_offset,
       stopped_by, observed_at
FROM taken {SEEN_BESIDE_TAKEN}"""

# A gap has no generation of its own: it is that of the ledger's range that holds its start and was
# written by the same attempt. A later repair states it anew, an election takes it away.
CURRENT_GAPS = f"""\
{FIRST_IDS},
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
         max(CASE WHEN ledger.kind IN ('repair', 'refill', 'superseded') THEN ledger.generation END)
           AS repair_generation
  FROM found LEFT JOIN ledger
    ON ledger.source_id = found.source_id
   AND ledger.topic_id IS NOT DISTINCT FROM found.topic_id
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

# The sums that `seglake audit` proves. Spans are added before others are taken away, so on the way
# their sum may not fit BIGINT. What was seen last of the log's end says what is left; it is not
# known where nothing of the log can be ingested.
COMPLETENESS = f"""\
{FIRST_IDS},
{_COVERED},
signed AS (
  SELECT *, CAST(next_offset - start_offset AS DECIMAL(20, 0)) AS span,
         kind IN ('ingest', 'retake') AS is_ingested,
         CASE WHEN kind = 'superseded' THEN -1 ELSE 1 END AS sign,
         least(next_offset, coalesce(free_from, next_offset)) AS reached
  FROM covered
),
taken AS (
  SELECT source_id, topic_id, topic, partition,
         CAST(sum(CASE WHEN is_ingested OR kind = 'superseded' THEN sign * span ELSE 0 END)
           AS BIGINT) AS covered,
         CAST(sum(sign * coalesce(records, 0)) AS BIGINT) AS records,
         CAST(sum(CASE kind WHEN 'superseded' THEN span WHEN 'retake' THEN -span
                            WHEN 'released' THEN -span ELSE 0 END) AS BIGINT) AS superseded,
         max(CASE WHEN is_ingested AND reached > start_offset THEN reached ELSE 0 END)
           AS covered_to
  FROM signed
  GROUP BY source_id, topic_id, topic, partition
),
spans AS (
  SELECT *, CAST(next_offset - start_offset AS DECIMAL(20, 0)) AS width FROM current_gaps
),
lacking AS (
  SELECT source_id, topic_id, topic, partition,
         CAST(sum(CASE WHEN cause = 'compacted' THEN width ELSE 0 END) AS BIGINT) AS compacted,
         CAST(sum(CASE WHEN cause = 'deleted' THEN width ELSE 0 END) AS BIGINT) AS deleted,
         CAST(sum(CASE WHEN cause = 'deleted_or_lost' THEN width ELSE 0 END) AS BIGINT)
           AS deleted_or_lost,
         CAST(sum(CASE WHEN cause = 'remote' THEN width ELSE 0 END) AS BIGINT) AS remote,
         CAST(sum(CASE WHEN cause = 'undecided' THEN width ELSE 0 END) AS BIGINT) AS undecided,
         CAST(sum(CASE WHEN cause = 'quarantined' THEN width ELSE 0 END) AS BIGINT) AS quarantined,
         CAST(sum(CASE WHEN cause = 'missing' THEN width ELSE 0 END) AS BIGINT) AS missing,
         CAST(sum(width) AS BIGINT) AS in_gaps
  FROM spans
  GROUP BY source_id, topic_id, topic, partition
)
SELECT taken.source_id, taken.topic_id, taken.topic, taken.partition, covered, records,
       covered - records - coalesce(in_gaps, 0) AS in_batches,
       coalesce(compacted, 0) AS compacted,
       coalesce(deleted, 0) AS deleted,
       coalesce(deleted_or_lost, 0) AS deleted_or_lost,
       coalesce(remote, 0) AS remote,
       coalesce(undecided, 0) AS undecided,
       coalesce(quarantined, 0) AS quarantined,
       coalesce(missing, 0) AS missing,
       covered_to,
       CASE
         WHEN seen.next_offset IS NULL THEN NULL
         WHEN log_end_offset > covered_to THEN log_end_offset - covered_to
         WHEN log_end_offset IS NOT NULL THEN 0
       END AS left_above,
       superseded
FROM taken LEFT JOIN lacking
  ON lacking.source_id = taken.source_id
 AND lacking.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND lacking.topic = taken.topic
 AND lacking.partition = taken.partition
{SEEN_BESIDE_TAKEN}"""
