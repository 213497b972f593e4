-- The views of seglake, for Spark. Run where the tables have their names (tables.sql).

CREATE OR REPLACE VIEW superseded_ranges AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
)
SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
       start_offset, next_offset, records, batches, leader_epoch, run_id, committed_at, generation,
       coalesce(topic_id = first_id, true) AS holds_null_ids
FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
WHERE kind = 'superseded';

CREATE OR REPLACE VIEW current_records AS
SELECT /*+ BROADCAST(superseded_ranges) */ records.*
FROM records ANTI JOIN superseded_ranges
  ON superseded_ranges.source_id = records.source_id
 AND superseded_ranges.topic = records.topic
 AND superseded_ranges.partition = records.partition
 AND (superseded_ranges.topic_id = records.topic_id
      OR records.topic_id IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= records.offset
 AND superseded_ranges.next_offset > records.offset
 AND superseded_ranges.generation > records.generation;

CREATE OR REPLACE VIEW superseded_records AS
SELECT /*+ BROADCAST(superseded_ranges) */ records.*
FROM records SEMI JOIN superseded_ranges
  ON superseded_ranges.source_id = records.source_id
 AND superseded_ranges.topic = records.topic
 AND superseded_ranges.partition = records.partition
 AND (superseded_ranges.topic_id = records.topic_id
      OR records.topic_id IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= records.offset
 AND superseded_ranges.next_offset > records.offset
 AND superseded_ranges.generation > records.generation;

CREATE OR REPLACE VIEW last_observations AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
seen AS (
  SELECT source_id, topic_id, topic, partition,
         broker_id, log_start_offset, high_watermark, last_stable_offset, log_end_offset,
         next_offset, stopped_by, detail, not_ingested, first_log_end_offset, waiting_since,
         run_id, observed_at,
         NULL AS generation
  FROM observations
  UNION ALL
  SELECT source_id, topic_id, topic, partition,
         NULL, log_start_offset, high_watermark, last_stable_offset, log_end_offset, CASE WHEN kind
         <> 'released' THEN next_offset END, NULL, NULL, NULL, NULL, NULL, run_id, committed_at,
         generation
  FROM checkpoints
  WHERE kind IN ('ingest', 'retake', 'released')
),
known AS (
  SELECT *, coalesce(topic_id, first_id) AS known_id
  FROM seen LEFT JOIN first_ids USING (source_id, topic)
),
ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, known_id, topic, partition
    ORDER BY observed_at DESC, generation DESC, next_offset DESC NULLS LAST) AS place
  FROM known
)
SELECT source_id, known_id AS topic_id, topic, partition,
       broker_id, log_start_offset, high_watermark, last_stable_offset, log_end_offset,
         next_offset, stopped_by, detail, not_ingested, first_log_end_offset, waiting_since,
         run_id, observed_at
FROM ranked
WHERE place = 1;

CREATE OR REPLACE VIEW last_offsets AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
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
),
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
FROM taken LEFT JOIN last_observations AS seen
  ON seen.source_id = taken.source_id
 AND seen.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND seen.topic = taken.topic
 AND seen.partition = taken.partition;

CREATE OR REPLACE VIEW current_gaps AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
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
         max(CASE WHEN ledger.kind IN ('repair', 'superseded') THEN ledger.generation END)
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
WHERE repair_generation IS NULL OR repair_generation <= generation;

CREATE OR REPLACE VIEW completeness AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
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
),
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
         CAST(sum(CASE WHEN cause = 'remote' THEN width ELSE 0 END) AS BIGINT) AS remote,
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
       coalesce(remote, 0) AS remote,
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
LEFT JOIN last_observations AS seen
  ON seen.source_id = taken.source_id
 AND seen.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND seen.topic = taken.topic
 AND seen.partition = taken.partition;

CREATE OR REPLACE VIEW settled_records AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
current_batches AS (
  SELECT /*+ BROADCAST(superseded_ranges) */ batches.*
  FROM batches ANTI JOIN superseded_ranges
    ON superseded_ranges.source_id = batches.source_id
   AND superseded_ranges.topic = batches.topic
   AND superseded_ranges.partition = batches.partition
   AND (superseded_ranges.topic_id = batches.topic_id
        OR batches.topic_id IS NULL AND superseded_ranges.holds_null_ids)
   AND superseded_ranges.start_offset <= batches.base_offset
   AND superseded_ranges.next_offset > batches.base_offset
   AND superseded_ranges.generation > batches.generation
),
written AS (
  SELECT source_id, coalesce(topic_id, first_id) AS known_id, topic, partition, base_offset,
         producer_id, control_type, transaction_state
  FROM current_batches LEFT JOIN first_ids USING (source_id, topic)
  WHERE producer_id IS NOT NULL
),
outcomes AS (
  SELECT data.source_id, data.known_id, data.topic, data.partition, data.base_offset,
         min_by(marker.control_type, marker.base_offset) AS outcome
  FROM written AS data JOIN written AS marker
    ON marker.source_id = data.source_id
   AND marker.known_id IS NOT DISTINCT FROM data.known_id
   AND marker.topic = data.topic
   AND marker.partition = data.partition
   AND marker.producer_id = data.producer_id
   AND marker.base_offset > data.base_offset
  WHERE data.transaction_state = 'open' AND marker.control_type IN ('commit', 'abort')
  GROUP BY data.source_id, data.known_id, data.topic, data.partition, data.base_offset
),
known AS (
  SELECT current_records.*, coalesce(topic_id, first_id) AS known_id
  FROM current_records LEFT JOIN first_ids USING (source_id, topic)
)
SELECT known.key,
       known.value,
       known.topic,
       known.partition,
       known.offset,
       known.timestamp,
       known.timestampType,
       known.headers,
       known.timestamp_ms,
       known.source_id,
       known.known_id AS topic_id,
       CASE
         WHEN known.transaction_state = 'open' AND outcome = 'commit' THEN 'committed'
         WHEN known.transaction_state = 'open' AND outcome = 'abort' THEN 'aborted'
         ELSE known.transaction_state
       END AS transaction_state,
       known.batch_base_offset,
       known.run_id,
       known.generation
FROM known LEFT JOIN outcomes
  ON outcomes.source_id = known.source_id
 AND outcomes.known_id IS NOT DISTINCT FROM known.known_id
 AND outcomes.topic = known.topic
 AND outcomes.partition = known.partition
 AND outcomes.base_offset = known.batch_base_offset;

CREATE OR REPLACE VIEW readable_records AS
WITH texts AS (
  SELECT *, try_validate_utf8(CAST(key AS STRING)) AS key_text, try_validate_utf8(CAST(value AS STRING)) AS value_text
  FROM current_records
)
SELECT texts.topic, texts.partition, texts.offset, texts.timestamp, texts.key_text, texts.value_text,
       CASE WHEN try_parse_json(concat('[', value_text, ']')) IS NOT NULL
          AND try_parse_json(concat('{"value":', value_text, '}')) IS NOT NULL
         THEN value_text END AS value_json,
       texts.key,
       texts.value,
       texts.timestampType,
       texts.headers,
       texts.timestamp_ms,
       texts.source_id,
       texts.topic_id,
       texts.transaction_state,
       texts.batch_base_offset,
       texts.run_id,
       texts.generation
FROM texts;

CREATE OR REPLACE VIEW latest_records AS
WITH ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, topic_id, topic, partition, key ORDER BY settled_records.offset DESC)
      AS place
  FROM settled_records
  WHERE transaction_state IN ('none', 'committed') AND key IS NOT NULL
),
texts AS (
  SELECT *, try_validate_utf8(CAST(key AS STRING)) AS key_text, try_validate_utf8(CAST(value AS STRING)) AS value_text
  FROM ranked
  WHERE place = 1 AND value IS NOT NULL
)
SELECT texts.topic, texts.partition, texts.offset, texts.timestamp, texts.key_text, texts.value_text,
       CASE WHEN try_parse_json(concat('[', value_text, ']')) IS NOT NULL
          AND try_parse_json(concat('{"value":', value_text, '}')) IS NOT NULL
         THEN value_text END AS value_json,
       texts.key,
       texts.value,
       texts.timestampType,
       texts.headers,
       texts.timestamp_ms,
       texts.source_id,
       texts.topic_id,
       texts.transaction_state,
       texts.batch_base_offset,
       texts.run_id,
       texts.generation
FROM texts;

CREATE OR REPLACE VIEW group_offsets AS
WITH current_rows AS (
SELECT /*+ BROADCAST(superseded_ranges) */ consumer_offsets.*
FROM consumer_offsets ANTI JOIN superseded_ranges
  ON superseded_ranges.source_id = consumer_offsets.source_id
 AND superseded_ranges.topic = '__consumer_offsets'
 AND superseded_ranges.partition = consumer_offsets.record_partition
 AND (superseded_ranges.topic_id = consumer_offsets.record_topic_id
      OR consumer_offsets.record_topic_id IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= consumer_offsets.record_offset
 AND superseded_ranges.next_offset > consumer_offsets.record_offset
 AND superseded_ranges.generation > consumer_offsets.generation
),
ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, record_topic_id, group_id, topic, partition
    ORDER BY record_offset DESC) AS place
  FROM current_rows
  WHERE kind = 'offset_commit' AND unread_reason IS NULL
)
SELECT source_id, group_id, topic, partition, ranked.offset, leader_epoch, metadata,
       commit_timestamp, commit_timestamp_ms, topic_id, record_topic_id, record_partition,
       record_offset
FROM ranked
WHERE place = 1 AND NOT is_tombstone;

CREATE OR REPLACE VIEW settled_metadata AS
WITH current_rows AS (
SELECT /*+ BROADCAST(superseded_ranges) */ cluster_metadata.*
FROM cluster_metadata ANTI JOIN superseded_ranges
  ON superseded_ranges.source_id = cluster_metadata.source_id
 AND superseded_ranges.topic = '__cluster_metadata'
 AND superseded_ranges.partition = cluster_metadata.record_partition
 AND (superseded_ranges.topic_id = cluster_metadata.record_topic_id
      OR cluster_metadata.record_topic_id IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= CASE WHEN cluster_metadata.snapshot IS NULL THEN cluster_metadata.record_offset ELSE 0 END
 AND superseded_ranges.next_offset > CASE WHEN cluster_metadata.snapshot IS NULL THEN cluster_metadata.record_offset ELSE 0 END
 AND superseded_ranges.generation > cluster_metadata.generation
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
SELECT source_id, record_type, topic, topic_id, partition, replicas, isr, leader, leader_epoch, partition_epoch, node_id, resource_type, resource_name, name, value, feature_level, is_redacted, detail, type_id, type_version, unread_reason, snapshot, record_topic_id, record_partition, record_offset, record_timestamp, record_timestamp_ms, run_id, generation
FROM placed
WHERE marker_offset IS NULL AND record_type IS NOT NULL
  AND (coalesce(marker_before, '') <> 'begin_transaction'
       OR coalesce(marker_behind, '') = 'end_transaction');
