-- The views over the tables, in SQL of Spark and DuckDB. It runs wherever the tables have their own
-- names.
--
-- A "view" reads only tables and views before it. A "part" is a text that views use, as {name} or
-- {name(arguments)}; "in" is followed by its engine, if the engines differ. A "query" is one that
-- `seglake sql` itself needs. Ranges are half-open.

-- part first_ids
-- Rows without a topic id were written before the id was known; they belong to the first known id.
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
)

-- part in_ranges(join, ranges, table, topic, topic_id, partition, offset)
-- A range takes its offsets from all rows of the partition with a smaller generation: ANTI keeps the
-- other rows, SEMI these. There are few such ranges, usually none, so the joins broadcast.
SELECT /*+ BROADCAST({ranges}) */ {table}.*
FROM {table} {join} JOIN {ranges}
  ON {ranges}.source_id = {table}.source_id
 AND {ranges}.topic = {topic}
 AND {ranges}.partition = {partition}
 AND ({ranges}.topic_id = {topic_id}
      OR {topic_id} IS NULL AND {ranges}.holds_null_ids)
 AND {ranges}.start_offset <= {offset}
 AND {ranges}.next_offset > {offset}
 AND {ranges}.generation > {table}.generation

-- query current_typed(table, topic)
-- Rows of a typed table that lost no election.
WITH lost AS (
  SELECT * FROM superseded_ranges WHERE topic = '{topic}'
)
SELECT /*+ BROADCAST(lost) */ {table}.*
FROM {table} ANTI JOIN lost
  ON lost.source_id = {table}._source_id
 AND lost.partition = {table}._partition
 AND (lost.topic_id = {table}._topic_id OR {table}._topic_id IS NULL AND lost.holds_null_ids)
 AND lost.start_offset <= {table}._offset
 AND lost.next_offset > {table}._offset
 AND lost.generation > {table}._generation

-- query newest_typed(typed, state, keys, columns)
-- The newest row of each decoded key in each partition, unless it is a tombstone. The newest record
-- of a decoded key is also the newest one of its bytes, which the table of latest state has.
WITH ranked AS (
  SELECT {typed}.*, row_number() OVER (
    PARTITION BY _source_id, state.topic_id, _partition, {keys} ORDER BY _offset DESC)
      AS _place_of_key
  FROM {typed} JOIN {state} AS state
    ON state.source_id = _source_id
   AND state.topic_id IS NOT DISTINCT FROM coalesce(_topic_id, state.topic_id)
   AND state.partition = _partition
   AND state.offset = _offset
   AND state.generation = _generation
)
SELECT {columns}
FROM ranked
WHERE _place_of_key = 1 AND NOT _tombstone

-- query newest_unwrapped(unwrapped, typed)
-- The rows of a table that Debezium captured. A truncation has no key: it empties its partition.
WITH emptied AS (
  SELECT _source_id, _topic_id, _partition, max(_offset) AS _offset
  FROM {typed}
  WHERE op = 't'
  GROUP BY _source_id, _topic_id, _partition
)
SELECT found.*
FROM ({unwrapped}) AS found ANTI JOIN emptied
  ON emptied._source_id = found._source_id
 AND emptied._topic_id IS NOT DISTINCT FROM found._topic_id
 AND emptied._partition = found._partition
 AND emptied._offset > found._offset
WHERE _op <> 'd'

-- query current_value_rejects
-- Keys and values that do not decode, of records that lost no election. A row with a resolution says
-- that a later run has decoded the key or value.
WITH standing AS (
  SELECT value_rejects.*
  FROM value_rejects ANTI JOIN (SELECT * FROM value_rejects WHERE resolution IS NOT NULL) AS resolved
    ON resolved.source_id = value_rejects.source_id
   AND resolved.topic = value_rejects.topic
   AND resolved.topic_id IS NOT DISTINCT FROM value_rejects.topic_id
   AND resolved.partition = value_rejects.partition
   AND resolved.offset = value_rejects.offset
   AND resolved.part = value_rejects.part
   AND resolved.record_generation = value_rejects.record_generation
)
SELECT /*+ BROADCAST(superseded_ranges) */ standing.*
FROM standing ANTI JOIN superseded_ranges
  ON superseded_ranges.source_id = standing.source_id
 AND superseded_ranges.topic = standing.topic
 AND superseded_ranges.partition = standing.partition
 AND (superseded_ranges.topic_id = standing.topic_id
      OR standing.topic_id IS NULL AND superseded_ranges.holds_null_ids)
 AND superseded_ranges.start_offset <= standing.offset
 AND superseded_ranges.next_offset > standing.offset
 AND superseded_ranges.generation > standing.record_generation

-- part current(table, offset)
-- Rows of a table with a log's columns that neither lost an election nor expired.
{in_ranges(
  ANTI, hidden_ranges, {table}, {table}.topic, {table}.topic_id, {table}.partition,
  {table}.{offset})}

-- part current_decoded(table, topic, offset)
-- Rows decoded from an internal topic that neither lost an election nor expired.
{in_ranges(
  ANTI, hidden_ranges, {table}, {topic}, {table}.record_topic_id, {table}.record_partition, {offset})}

-- part removed_generation
-- The commit that had added the removed rows of a ledger's row.
CASE WHEN upper_bound LIKE 'generation %' THEN CAST(substr(upper_bound, 12) AS BIGINT) END
           AS removed_generation

-- part covered
-- Superseded offsets above the end of the winning log are free: rows that earlier commits ingested
-- there no longer cover them.
ledger AS (
  SELECT checkpoints.*, coalesce(topic_id, first_id) AS known_id
  FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
),
covered AS (
  SELECT source_id, known_id AS topic_id, topic, partition, kind, start_offset, next_offset,
         records, generation, {removed_generation},
         min(CASE WHEN kind = 'released' THEN start_offset END) OVER (
           PARTITION BY source_id, known_id, topic, partition ORDER BY generation
           RANGE BETWEEN CAST(1 AS BIGINT) FOLLOWING AND UNBOUNDED FOLLOWING) AS free_from
  FROM ledger
)

-- part seen_beside_taken
-- The last observation of each partition in `taken`.
LEFT JOIN last_observations AS seen
  ON seen.source_id = taken.source_id
 AND seen.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND seen.topic = taken.topic
 AND seen.partition = taken.partition

-- part texts in spark
-- Spark 3.5 has no try_validate_utf8: Java returns other bytes for those that are not UTF-8.
CASE WHEN encode(CAST(key AS STRING), 'UTF-8') = key THEN CAST(key AS STRING) END AS key_text,
         CASE WHEN encode(CAST(value AS STRING), 'UTF-8') = value
           THEN CAST(value AS STRING) END AS value_text

-- part texts in duckdb
try(decode(key)) AS key_text, try(decode(value)) AS value_text

-- part is_json in spark
-- Spark's parser stops after the first value. Only a text that is exactly one value parses both as
-- the element of an array and as the value of an object.
from_json(concat('[', value_text, ']'), 'array<string>',
                    map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'))
            IS NOT NULL
          AND from_json(concat('{"value":', value_text, '}'), 'map<string,string>',
                    map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'))
            IS NOT NULL

-- part is_json in duckdb
json_valid(value_text)

-- part readable_columns
-- All columns of `records`, and their payloads as text and JSON.
texts.topic, texts.partition, texts.offset, texts.timestamp, texts.key_text, texts.value_text,
       CASE WHEN {is_json}
         THEN value_text END AS value_json,
       texts.key, texts.value, texts.timestampType, texts.headers, texts.timestamp_ms,
       texts.source_id, texts.topic_id, texts.transaction_state, texts.batch_base_offset,
       texts.run_id, texts.generation

-- part member(column, name) in spark
-- A member of a JSON text, as text; null if it is missing or null.
get_json_object({column}, '$.{name}')

-- part member(column, name) in duckdb
json_extract_string({column}, '$.{name}')

-- part since_cleared(name) in spark
-- The array of integers in a JSON text, unless it is older than its last clearing.
from_json(
         CASE WHEN {name}_at > coalesce(cleared_at, 0) THEN {name}_text ELSE '[]' END, 'array<int>')

-- part since_cleared(name) in duckdb
CAST(CASE WHEN {name}_at > coalesce(cleared_at, 0) THEN {name}_text ELSE '[]' END AS INTEGER[])

-- part topics
-- A snapshot is the whole state at its end offset, and replaces all records below it, unless it is
-- partly unreadable. Topic ids are never reused.
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
)

-- view superseded_ranges
{first_ids}
SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
       start_offset, next_offset, records, batches, leader_epoch, run_id, committed_at, generation,
       coalesce(topic_id = first_id, true) AS holds_null_ids
FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
WHERE kind = 'superseded'

-- view hidden_ranges
-- Rows of expired offsets are removed from `records` at once, and from the other tables later.
{first_ids}
SELECT source_id, coalesce(topic_id, first_id) AS topic_id, topic, partition, kind,
       start_offset, next_offset, generation, coalesce(topic_id = first_id, true) AS holds_null_ids
FROM checkpoints LEFT JOIN first_ids USING (source_id, topic)
WHERE kind = 'superseded' OR kind = 'expired' AND upper_bound IS NULL

-- view current_records
{current(records, offset)}

-- view superseded_records
{in_ranges(
  SEMI, superseded_ranges, records, records.topic, records.topic_id, records.partition,
  records.offset)}

-- view current_salvaged_records
-- Repaired damage has a second row in `quarantine`, from a later commit. A repair may also fill
-- only some of the offsets between two sound batches, and resolve none of the damage there.
WITH standing AS (
{current(salvaged_records, offset)}
),
resolved AS (
  SELECT source_id, topic, partition, broker_id, segment, position, raw_sha256,
         max(generation) AS resolved_by
  FROM quarantine
  WHERE resolution IS NOT NULL
  GROUP BY source_id, topic, partition, broker_id, segment, position, raw_sha256
),
sound AS (
{current(batches, base_offset)}
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
 AND sound.last_offset >= standing.offset

-- view last_observations
-- A run that dies leaves ranges in the ledger but no observation, as did runs before this table
-- existed. Offsets that a retake released were of a losing log: the end of the winning log is
-- unknown.
{first_ids},
seen AS (
  SELECT source_id, topic_id, topic, partition, broker_id, log_start_offset, high_watermark,
         last_stable_offset, log_end_offset, next_offset, stopped_by, detail, not_ingested,
         first_log_end_offset, waiting_since, run_id, observed_at, NULL AS generation
  FROM observations
  WHERE partition IS NOT NULL
  UNION ALL
  SELECT source_id, topic_id, topic, partition, NULL, log_start_offset, high_watermark,
         last_stable_offset, log_end_offset, CASE WHEN kind <> 'released' THEN next_offset END,
         NULL, NULL, NULL, NULL, NULL, run_id, committed_at, generation
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
SELECT source_id, known_id AS topic_id, topic, partition, broker_id, log_start_offset,
       high_watermark, last_stable_offset, log_end_offset, next_offset, stopped_by, detail,
       not_ingested, first_log_end_offset, waiting_since, run_id, observed_at
FROM ranked
WHERE place = 1

-- view last_offsets
-- The offset up to which each partition is ingested.
{first_ids},
{covered},
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
FROM taken {seen_beside_taken}

-- view current_gaps
-- A gap has no generation of its own, but that of the ledger's range which contains its start and
-- was written by the same attempt. A later repair records the gap again; an election removes it.
{first_ids},
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
         max(CASE WHEN ledger.kind IN ('repair', 'refill', 'superseded', 'expired')
                  THEN ledger.generation END)
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
WHERE repair_generation IS NULL OR repair_generation <= generation

-- view completeness
-- The sums that `seglake audit` proves. Spans are added before others are subtracted, so an
-- intermediate sum may exceed BIGINT. The last observation of the log's end gives the offsets that
-- are left; they are unknown if nothing of the log can be ingested.
{first_ids},
{covered},
signed AS (
  SELECT *, CAST(next_offset - start_offset AS DECIMAL(20, 0)) AS span,
         kind IN ('ingest', 'retake') AS is_ingested,
         CASE WHEN kind IN ('superseded', 'erased', 'expired') THEN -1 ELSE 1 END AS sign,
         least(next_offset, coalesce(free_from, next_offset)) AS reached
  FROM covered
),
taken AS (
  SELECT source_id, topic_id, topic, partition,
         CAST(sum(CASE WHEN is_ingested OR kind = 'superseded' THEN sign * span ELSE 0 END)
           AS BIGINT) AS covered,
         CAST(sum(sign * coalesce(records, 0)) AS BIGINT) AS net_records,
         CAST(sum(CASE kind WHEN 'superseded' THEN span WHEN 'retake' THEN -span
                            WHEN 'released' THEN -span ELSE 0 END) AS BIGINT) AS superseded,
         max(CASE WHEN is_ingested AND reached > start_offset THEN reached ELSE 0 END)
           AS covered_to
  FROM signed
  GROUP BY source_id, topic_id, topic, partition
),
-- Removed records that had lost an election before are subtracted twice.
removed_lost AS (
  SELECT source_id, topic_id, topic, partition, CAST(sum(records) AS BIGINT) AS records
  FROM (
    SELECT r.source_id, r.topic_id, r.topic, r.partition, r.start_offset, r.removed_generation,
           r.generation, r.records
    FROM covered AS r JOIN covered AS lost
      ON lost.source_id = r.source_id
     AND lost.topic_id IS NOT DISTINCT FROM r.topic_id
     AND lost.topic = r.topic
     AND lost.partition = r.partition
     AND lost.generation > r.removed_generation
     AND lost.generation < r.generation
     AND lost.start_offset <= r.start_offset
     AND lost.next_offset > r.start_offset
    WHERE lost.kind = 'superseded' AND r.kind IN ('erased', 'expired')
    GROUP BY ALL) AS removed
  GROUP BY source_id, topic_id, topic, partition
),
spans AS (
  SELECT *, CAST(next_offset - start_offset AS DECIMAL(20, 0)) AS width FROM current_gaps
),
lacking AS (
  SELECT source_id, topic_id, topic, partition,
         CAST(sum(CASE WHEN cause = 'compacted' THEN width ELSE 0 END) AS BIGINT) AS compacted,
         CAST(sum(CASE WHEN cause = 'erased' THEN width ELSE 0 END) AS BIGINT) AS erased,
         CAST(sum(CASE WHEN cause = 'expired' THEN width ELSE 0 END) AS BIGINT) AS expired,
         CAST(sum(CASE WHEN cause = 'deleted' THEN width ELSE 0 END) AS BIGINT) AS deleted,
         CAST(sum(CASE WHEN cause = 'marker' THEN width ELSE 0 END) AS BIGINT) AS marker,
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
SELECT taken.source_id, taken.topic_id, taken.topic, taken.partition, covered,
       net_records + coalesce(removed_lost.records, 0) AS records,
       covered - net_records - coalesce(removed_lost.records, 0) - coalesce(in_gaps, 0)
         AS in_batches,
       coalesce(compacted, 0) AS compacted,
       coalesce(erased, 0) AS erased,
       coalesce(expired, 0) AS expired,
       coalesce(deleted, 0) AS deleted,
       coalesce(marker, 0) AS marker,
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
LEFT JOIN removed_lost
  ON removed_lost.source_id = taken.source_id
 AND removed_lost.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND removed_lost.topic = taken.topic
 AND removed_lost.partition = taken.partition
{seen_beside_taken}

-- view settled_records
-- A batch keeps the outcome that its run knew, and a later marker is a batch of its own: the
-- producer's first marker after the data decides, as in a broker.
{first_ids},
current_batches AS (
{current(batches, base_offset)}
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
SELECT known.key, known.value, known.topic, known.partition, known.offset, known.timestamp,
       known.timestampType, known.headers, known.timestamp_ms, known.source_id,
       known.known_id AS topic_id,
       CASE
         WHEN known.transaction_state = 'open' AND outcome = 'commit' THEN 'committed'
         WHEN known.transaction_state = 'open' AND outcome = 'abort' THEN 'aborted'
         ELSE known.transaction_state
       END AS transaction_state,
       known.batch_base_offset, known.run_id, known.generation
FROM known LEFT JOIN outcomes
  ON outcomes.source_id = known.source_id
 AND outcomes.known_id IS NOT DISTINCT FROM known.known_id
 AND outcomes.topic = known.topic
 AND outcomes.partition = known.partition
 AND outcomes.base_offset = known.batch_base_offset

-- view readable_records
-- Records with their text and JSON, if their bytes are text or JSON.
WITH texts AS (
  SELECT *, {texts}
  FROM current_records
)
SELECT {readable_columns}
FROM texts

-- view latest_records
-- The newest record of each key in each partition, unless it is a tombstone.
WITH ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, topic_id, topic, partition, key ORDER BY settled_records.offset DESC)
      AS place
  FROM settled_records
  WHERE transaction_state IN ('none', 'committed') AND key IS NOT NULL
),
texts AS (
  SELECT *, {texts}
  FROM ranked
  WHERE place = 1 AND value IS NOT NULL
)
SELECT {readable_columns}
FROM texts

-- view group_offsets
-- All records of a group are in one partition, so the highest offset is the newest.
{first_ids},
current_rows AS (
{current_decoded(consumer_offsets, '__consumer_offsets', consumer_offsets.record_offset)}
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
WHERE place = 1 AND NOT is_tombstone

-- view group_lag
-- The lag of each group in each partition, like `kafka-consumer-groups --describe`. A commit
-- belongs to the log with its topic id; without an id, to the newest log of the name.
WITH current_rows AS (
{current_decoded(consumer_offsets, '__consumer_offsets', consumer_offsets.record_offset)}
),
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
         CAST(sum(CASE WHEN kind = 'classic_group' THEN json_array_length({member(detail, members)})
                       WHEN kind LIKE '%_member' THEN 1 ELSE 0 END) AS BIGINT) AS members
  FROM ranked
  WHERE place = 1 AND NOT is_tombstone
  GROUP BY source_id, group_id
),
-- A run may see an older copy after the leader's log: then the ingested rows show the end. Rows
-- that lost an election are no evidence on the winning log.
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
),
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
-- A partition of a topic that a group reads has a row even without a commit.
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
)
SELECT everything.source_id, everything.group_id, topic, partition, current_offset, log_end_offset,
       log_end_offset - current_offset AS lag,
       group_kind, members, leader_epoch, metadata, commit_timestamp, high_watermark, topic_id
FROM everything LEFT JOIN groups
  ON groups.source_id = everything.source_id AND groups.group_id = everything.group_id

-- view settled_metadata
-- Records between the begin of a transaction and its abort, or after a begin without an end, do not
-- count. No transaction crosses the edge of a snapshot. Offsets of a snapshot count from its own
-- start; it belongs to the log start.
WITH current_rows AS (
{current_decoded(
  cluster_metadata, '__cluster_metadata',
  CASE WHEN cluster_metadata.snapshot IS NULL THEN cluster_metadata.record_offset ELSE 0 END)}
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
SELECT source_id, record_type, topic, topic_id, partition, replicas, isr, leader, leader_epoch,
       partition_epoch, node_id, resource_type, resource_name, name, value, feature_level,
       is_redacted, detail, type_id, type_version, unread_reason, snapshot, record_topic_id,
       record_partition, record_offset, record_timestamp, record_timestamp_ms, run_id, generation
FROM placed
WHERE marker_offset IS NULL AND record_type IS NOT NULL
  AND (coalesce(marker_before, '') <> 'begin_transaction'
       OR coalesce(marker_behind, '') = 'end_transaction')

-- view remote_segments
-- Copies of segments in a remote tier. Like a broker, it ignores events of a copy whose start the
-- topic no longer has, and steps that the state does not allow: a copy ends only after its start,
-- and a deletion only after its begin.
WITH current_rows AS (
{current_decoded(
  remote_log_metadata, '__remote_log_metadata', remote_log_metadata.record_offset)}
),
begun AS (
  SELECT *, min(CASE WHEN event = 'segment' THEN record_offset END) OVER (
    PARTITION BY source_id, record_topic_id, record_partition, topic_id, partition, segment_id)
    AS begun_at
  FROM current_rows
  WHERE event IN ('segment', 'segment_update')
),
events AS (
  SELECT *, min(CASE WHEN state = 'delete_started' THEN record_offset END) OVER (
    PARTITION BY source_id, record_topic_id, record_partition, topic_id, partition, segment_id)
    AS deleted_at
  FROM begun
  WHERE record_offset >= begun_at
)
SELECT source_id, min(topic) AS topic, topic_id, partition, segment_id,
       CASE WHEN max(CASE WHEN state = 'delete_finished' THEN record_offset END) > max(deleted_at)
              THEN 'delete_finished'
            WHEN max(deleted_at) IS NOT NULL THEN 'delete_started'
            WHEN max(CASE WHEN state = 'copy_finished' THEN record_offset END) IS NOT NULL
              THEN 'copy_finished'
            ELSE 'copy_started' END AS state,
       min_by(start_offset, record_offset) AS start_offset,
       min_by(end_offset, record_offset) AS end_offset,
       min_by(leader_epochs, record_offset) AS leader_epochs,
       min_by(size_bytes, record_offset) AS size_bytes,
       min_by(max_timestamp, record_offset) AS max_timestamp,
       max_by(custom_metadata, CASE WHEN custom_metadata IS NOT NULL
         AND (deleted_at IS NULL OR record_offset < deleted_at) THEN record_offset END)
         AS custom_metadata,
       max(event_timestamp) AS event_timestamp,
       record_topic_id, record_partition, max(record_offset) AS record_offset
FROM events
GROUP BY source_id, topic_id, partition, segment_id, record_topic_id, record_partition

-- view topic_configs
-- Configs of KRaft's topics.
{topics},
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
  AND (removals.removed_at IS NULL OR place > removals.removed_at)

-- view partition_leaders
-- The newest state of each partition, like `kafka-topics --describe`. A change has only the changed
-- fields. It raises the partition's epoch by one, and the leader's epoch if it names a leader
-- (`PartitionRegistration.merge`). After a clean stop of the last broker a partition has no leader:
-- `last_leader` is the broker that was the leader before.
{topics},
changes AS (
  SELECT state.*, record_type = 'partition_change' AS is_change, topics.topic AS topic_name,
         {member(detail, eligibleLeaderReplicas)} AS elr_text,
         {member(detail, lastKnownElr)} AS last_text,
         max(CASE WHEN record_type = 'partition' THEN place END) OVER (
           PARTITION BY state.source_id, state.topic_id, state.partition) AS begun_at
  FROM state JOIN topics
    ON topics.source_id = state.source_id
   AND topics.topic_id = state.topic_id
   AND topics.removed_at IS NULL
  WHERE record_type IN ('partition', 'partition_change')
),
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
)
SELECT newest.source_id, topic_name AS topic, newest.topic_id, newest.partition,
       CASE WHEN leader >= 0 THEN leader END AS leader, last_leader, leader_epoch, replicas, isr,
       {since_cleared(elr)} AS elr,
       {since_cleared(last)} AS last_known_elr,
       partition_epoch, changed_at
FROM newest LEFT JOIN cleared
  ON cleared.source_id = newest.source_id
 AND cleared.topic_id = newest.topic_id
 AND cleared.partition = newest.partition

-- query newest_bound
-- The upper bound of the newest run that committed.
SELECT max_by(upper_bound, committed_at) AS upper_bound FROM checkpoints
WHERE kind NOT IN ('erased', 'expired')

-- query internal_logs(topics)
-- The newest observation of each log of internal topics, and its number of damage gaps.
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
ORDER BY seen.topic, seen.partition
