-- seglake's views; run where the tables are registered under their own names.

CREATE OR REPLACE VIEW last_offsets AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
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
GROUP BY source_id, topic_id, topic, partition;

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
WHERE repair_generation IS NULL OR repair_generation <= generation;

CREATE OR REPLACE VIEW settled_records AS
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
written AS (
  SELECT source_id, coalesce(topic_id, first_id) AS known_id, topic, partition, base_offset,
         producer_id, control_type, transaction_state
  FROM batches LEFT JOIN first_ids USING (source_id, topic)
  WHERE producer_id IS NOT NULL
),
outcomes AS (
  SELECT data.source_id, data.known_id, data.topic, data.partition, data.base_offset,
         min_by(marker.control_type, marker.base_offset) AS outcome
  FROM written AS data JOIN written AS marker
    ON marker.source_id = data.source_id
   AND marker.known_id <=> data.known_id
   AND marker.topic = data.topic
   AND marker.partition = data.partition
   AND marker.producer_id = data.producer_id
   AND marker.base_offset > data.base_offset
  WHERE data.transaction_state = 'open' AND marker.control_type IN ('commit', 'abort')
  GROUP BY data.source_id, data.known_id, data.topic, data.partition, data.base_offset
),
known AS (
  SELECT records.*, coalesce(topic_id, first_id) AS known_id
  FROM records LEFT JOIN first_ids USING (source_id, topic)
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
       known.topic_id,
       CASE
         WHEN known.transaction_state = 'open' AND outcome = 'commit' THEN 'committed'
         WHEN known.transaction_state = 'open' AND outcome = 'abort' THEN 'aborted'
         ELSE known.transaction_state
       END AS transaction_state,
       known.batch_base_offset,
       known.run_id
FROM known LEFT JOIN outcomes
  ON outcomes.source_id = known.source_id
 AND outcomes.known_id <=> known.known_id
 AND outcomes.topic = known.topic
 AND outcomes.partition = known.partition
 AND outcomes.base_offset = known.batch_base_offset;

CREATE OR REPLACE VIEW readable_records AS
WITH texts AS (
  SELECT *,
         try_validate_utf8(CAST(key AS STRING)) AS key_text,
         try_validate_utf8(CAST(value AS STRING)) AS value_text
  FROM records
)
SELECT topic, partition, offset, timestamp, key_text, value_text,
       CASE
         WHEN try_parse_json(concat('[', value_text, ']')) IS NOT NULL
          AND try_parse_json(concat('{"value":', value_text, '}')) IS NOT NULL
         THEN value_text
       END AS value_json,
       key,
       value,
       timestampType,
       headers,
       timestamp_ms,
       source_id,
       topic_id,
       transaction_state,
       batch_base_offset,
       run_id
FROM texts;

CREATE OR REPLACE VIEW group_offsets AS
WITH ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, record_topic_id, group_id, topic, partition
    ORDER BY record_offset DESC) AS place
  FROM consumer_offsets
  WHERE kind = 'offset_commit' AND unread_reason IS NULL
)
SELECT source_id, group_id, topic, partition, offset, leader_epoch, metadata, commit_timestamp,
       commit_timestamp_ms, topic_id, record_topic_id, record_partition, record_offset
FROM ranked
WHERE place = 1 AND NOT is_tombstone;

CREATE OR REPLACE VIEW settled_metadata AS
WITH marked AS (
  SELECT *, record_type IN ('begin_transaction', 'end_transaction', 'abort_transaction')
              AS is_marker
  FROM cluster_metadata
),
placed AS (
  SELECT *,
         last_value(CASE WHEN is_marker THEN record_type END, true) OVER (
           PARTITION BY source_id, record_topic_id, snapshot ORDER BY record_offset
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS marker_before,
         first_value(CASE WHEN is_marker THEN record_type END, true) OVER (
           PARTITION BY source_id, record_topic_id, snapshot ORDER BY record_offset
           ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS marker_behind
  FROM marked
)
SELECT source_id, record_type, topic, topic_id, partition, replicas, isr, leader, leader_epoch, partition_epoch, node_id, resource_type, resource_name, name, value, feature_level, is_redacted, detail, type_id, type_version, unread_reason, snapshot, record_topic_id, record_partition, record_offset, record_timestamp, record_timestamp_ms, run_id
FROM placed
WHERE NOT is_marker
  AND (coalesce(marker_before, '') <> 'begin_transaction'
       OR coalesce(marker_behind, '') = 'end_transaction');
