-- The proof of a lake: what must hold of its tables, as queries for DuckDB and Spark.
--
-- "derive" makes a table for later queries. "check" returns no row if its sentence holds; otherwise
-- each row has the log, a place to sort by, the number of wrong rows or offsets, and a text. "fact"
-- returns sums for the audit's output. Ranges are half-open.

-- derive proof_record_groups
-- Rows of records by batch, in groups of 32 offsets. Bit i of a group's mask stands for its i-th
-- offset, so if the mask has as many bits as the group has rows, no offset is there twice.
SELECT source_id, topic_id, topic, partition, generation, batch_base_offset AS base_offset,
       (records.offset - batch_base_offset) >> 5 AS part, count(*) AS records,
       min(records.offset) AS first_offset, max(records.offset) AS last_offset,
       bit_count(bit_or(CAST(1 AS BIGINT)
         << CAST((records.offset - batch_base_offset) & 31 AS INT))) AS distinct_offsets,
       sum(records.offset - batch_base_offset) AS sum_from_base,
       coalesce(sum(octet_length(key)), 0) AS key_bytes,
       coalesce(sum(octet_length(value)), 0) AS value_bytes,
       min(nullif(timestamp_ms, -1)) AS min_timestamp_ms,
       max(nullif(timestamp_ms, -1)) AS max_timestamp_ms
FROM records
GROUP BY ALL;

-- derive proof_log_ids
-- A number for each log. Rows without a topic id belong to the first topic id in the ledger.
WITH first_ids AS (
  SELECT source_id, topic, min_by(topic_id, generation) AS first_id
  FROM checkpoints
  WHERE topic_id IS NOT NULL
  GROUP BY source_id, topic
),
named AS (
  SELECT source_id, topic_id, topic, partition FROM proof_record_groups
  UNION SELECT source_id, topic_id, topic, partition FROM batches
  UNION SELECT source_id, topic_id, topic, partition FROM gaps
  UNION SELECT source_id, topic_id, topic, partition FROM quarantine
  UNION SELECT source_id, topic_id, topic, partition FROM checkpoints
)
SELECT source_id, topic_id AS named_id, coalesce(topic_id, first_id) AS topic_id, topic, partition,
       dense_rank() OVER (ORDER BY source_id, topic, partition, coalesce(topic_id, first_id)) AS log
FROM named LEFT JOIN first_ids USING (source_id, topic);

-- derive proof_ledger
-- Ranges of the ledger. Batches of a refill overlap the batches that lack records. So each refill
-- is a layer, numbered by its generation; all other batches are layer 0.
SELECT log, coalesce(kind, '') AS kind, start_offset, next_offset, generation, attempt_id,
       records, batches, quarantined_batches, bytes, offset_sum, key_bytes, value_bytes,
       min_timestamp_ms, max_timestamp_ms,
       CASE WHEN upper_bound LIKE 'generation %' THEN CAST(substr(upper_bound, 12) AS BIGINT) END
         AS removed_generation,
       max(CASE WHEN kind = 'refill' THEN generation ELSE 0 END)
         OVER (PARTITION BY log, generation) AS layer
FROM checkpoints AS c JOIN proof_log_ids AS l
  ON c.source_id = l.source_id AND c.topic = l.topic AND c.partition = l.partition
 AND c.topic_id IS NOT DISTINCT FROM l.named_id;

-- derive proof_borders
-- The offset of each log below which retention removed all rows.
SELECT log, max(next_offset) AS border FROM proof_ledger WHERE kind = 'expired' GROUP BY log;

-- derive proof_removals
-- Sums of rows that were erased or that expired, by the commit that had added them. Some of them had
-- lost an election before.
SELECT r.log, r.removed_generation AS generation, r.start_offset, r.next_offset, r.kind,
       r.attempt_id, coalesce(r.records, 0) AS records, coalesce(r.batches, 0) AS batches,
       coalesce(r.quarantined_batches, 0) AS spans, coalesce(r.bytes, 0) AS bytes,
       coalesce(r.offset_sum, 0) AS offset_sum, coalesce(r.key_bytes, 0) AS key_bytes,
       coalesce(r.value_bytes, 0) AS value_bytes, count(lost.log) > 0 AS was_lost
FROM proof_ledger AS r LEFT JOIN proof_ledger AS lost
  ON lost.log = r.log AND lost.kind = 'superseded' AND lost.generation > r.removed_generation
 AND lost.generation < r.generation
 AND lost.start_offset <= r.start_offset AND r.start_offset < lost.next_offset
WHERE r.kind IN ('erased', 'expired') AND r.removed_generation IS NOT NULL
GROUP BY ALL;

-- derive proof_ranges
-- Ranges that added rows. Overlapping ranges of one commit are one block, compared as a whole.
WITH ordered AS (
  SELECT *, max(next_offset) OVER (
      PARTITION BY log, generation ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_ledger
  WHERE kind NOT IN ('superseded', 'released', 'erased', 'expired') AND start_offset < next_offset
)
SELECT *, max(CASE WHEN start_offset < reached THEN NULL ELSE start_offset END) OVER (
    PARTITION BY log, generation ORDER BY start_offset, next_offset
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS block_start
FROM ordered;

-- derive proof_pieces
-- Blocks, split where an election superseded a part: all rows of a piece are current, or none.
-- Expired offsets are in no piece.
WITH blocks AS (
  SELECT log, generation, layer, block_start, max(next_offset) AS block_next,
         greatest(block_start, max(coalesce(border, block_start))) AS first_offset
  FROM proof_ranges LEFT JOIN proof_borders USING (log)
  GROUP BY log, generation, layer, block_start
  HAVING max(next_offset) > max(coalesce(border, block_start))
),
lost AS (
  SELECT log, generation, start_offset, next_offset FROM proof_ledger WHERE kind = 'superseded'
),
edges AS (
  SELECT *, first_offset AS edge FROM blocks
  UNION SELECT b.*, e.edge
  FROM blocks AS b JOIN (
    SELECT log, generation, start_offset AS edge FROM lost
    UNION SELECT log, generation, next_offset FROM lost
  ) AS e ON e.log = b.log AND e.generation > b.generation
        AND e.edge > b.first_offset AND e.edge < b.block_next
),
judged AS (
  SELECT e.log, e.generation, layer, block_start, block_next, edge,
         count(lost.log) = 0 AS is_current
  FROM edges AS e LEFT JOIN lost
    ON lost.log = e.log AND lost.generation > e.generation
   AND lost.start_offset <= e.edge AND e.edge < lost.next_offset
  GROUP BY ALL
),
changed AS (
  SELECT *, lag(is_current) OVER (PARTITION BY log, generation, block_start ORDER BY edge) AS before
  FROM judged
)
SELECT log, generation, layer, block_start, edge AS piece_start,
       coalesce(lead(edge) OVER (PARTITION BY log, generation, block_start ORDER BY edge),
                block_next) AS piece_next, is_current
FROM changed
WHERE before IS NULL OR before <> is_current;

-- derive proof_covered
-- Offsets that the ledger covers and no election superseded; adjacent ranges are joined.
WITH ordered AS (
  SELECT log, piece_start, piece_next, max(piece_next) OVER (
      PARTITION BY log ORDER BY piece_start, piece_next
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_pieces
  WHERE is_current
),
numbered AS (
  SELECT *, max(CASE WHEN piece_start <= reached THEN NULL ELSE piece_start END) OVER (
      PARTITION BY log ORDER BY piece_start, piece_next
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS covered_start
  FROM ordered
)
SELECT log, covered_start, max(piece_next) AS covered_next
FROM numbered
GROUP BY log, covered_start;

-- derive proof_log_gaps
-- Gaps with the generation of the commit that recorded them, and whether they still stand. A later
-- repair ends a gap and records again what is still missing; an election supersedes gaps together
-- with rows. A range ends a gap if it has the gap's first offset: one sweep for each commit that may
-- end gaps.
WITH attempts AS (
  SELECT log, attempt_id, max(generation) AS generation FROM proof_ledger GROUP BY log, attempt_id
),
own AS (
  SELECT l.log, a.generation, start_offset, next_offset, cause, detail, g.attempt_id,
         coalesce(a.generation, -1) AS recorded_at
  FROM gaps AS g JOIN proof_log_ids AS l
    ON g.source_id = l.source_id AND g.topic = l.topic AND g.partition = l.partition
   AND g.topic_id IS NOT DISTINCT FROM l.named_id
  LEFT JOIN attempts AS a ON a.log = l.log AND a.attempt_id = g.attempt_id
),
ends AS (
  SELECT log, generation, start_offset, next_offset
  FROM proof_ledger
  WHERE kind IN ('repair', 'refill', 'superseded', 'expired')
),
points AS (
  SELECT log, generation, start_offset AS place, next_offset, CAST(NULL AS BIGINT) AS recorded_at
  FROM ends
  UNION ALL
  SELECT DISTINCT own.log, e.generation, own.start_offset, CAST(NULL AS BIGINT), recorded_at
  FROM own JOIN (SELECT DISTINCT log, generation FROM ends) AS e
    ON e.log = own.log AND e.generation > recorded_at
),
swept AS (
  SELECT log, place, recorded_at, max(next_offset) OVER (
      PARTITION BY log, generation ORDER BY place, CASE WHEN recorded_at IS NULL THEN 0 ELSE 1 END
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached
  FROM points
),
ended AS (
  SELECT DISTINCT log, place, recorded_at FROM swept
  WHERE recorded_at IS NOT NULL AND place < reached
)
SELECT own.log, generation, start_offset, next_offset, cause, detail, attempt_id,
       ended.place IS NULL AS stands
FROM own LEFT JOIN ended
  ON ended.log = own.log AND ended.place = start_offset AND ended.recorded_at = own.recorded_at;

-- derive proof_log_records
-- Groups of records that have not expired, with their log.
SELECT l.log, generation, base_offset, part, records, first_offset, last_offset, distinct_offsets,
       CAST(base_offset AS DECIMAL(19, 0)) * CAST(records AS DECIMAL(19, 0)) + sum_from_base
         AS offset_sum, key_bytes, value_bytes, min_timestamp_ms, max_timestamp_ms
FROM proof_record_groups AS g JOIN proof_log_ids AS l
  ON g.source_id = l.source_id AND g.topic = l.topic AND g.partition = l.partition
 AND g.topic_id IS NOT DISTINCT FROM l.named_id
LEFT JOIN proof_borders AS e ON e.log = l.log
WHERE first_offset >= coalesce(border, first_offset);

-- derive proof_log_batches
-- Batches that have not expired, with their log. A batch belongs to the range that has its last offset.
SELECT l.log, generation, base_offset, last_offset, coalesce(row_count, -1) AS row_count,
       coalesce(size_bytes, 0) AS size_bytes, coalesce(state, '') AS state,
       coalesce(producer_id, -1) AS producer_id, control_type, transaction_state
FROM batches AS b JOIN proof_log_ids AS l
  ON b.source_id = l.source_id AND b.topic = l.topic AND b.partition = l.partition
 AND b.topic_id IS NOT DISTINCT FROM l.named_id
LEFT JOIN proof_borders AS e ON e.log = l.log
WHERE last_offset >= coalesce(border, last_offset);

-- derive proof_places
-- For each row, the piece of its own commit in which it is: one sweep over the commit's offsets.
WITH points AS (
  SELECT log, generation, piece_start AS place, 0 AS is_row, piece_start, piece_next
  FROM proof_pieces
  UNION SELECT log, generation, last_offset, 1, NULL, NULL FROM proof_log_batches
  UNION SELECT log, generation, first_offset, 1, NULL, NULL FROM proof_log_records
  UNION SELECT log, generation, start_offset, 1, NULL, NULL FROM proof_log_gaps
),
swept AS (
  SELECT log, generation, place, is_row,
         max(piece_start) OVER below AS piece_start, max(piece_next) OVER below AS piece_next
  FROM points
  WINDOW below AS (PARTITION BY log, generation ORDER BY place, is_row
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT s.log, s.generation, s.place, p.piece_start, p.piece_next, p.block_start, p.layer,
       p.is_current
FROM swept AS s JOIN proof_pieces AS p
  ON p.log = s.log AND p.generation = s.generation AND p.piece_start = s.piece_start
WHERE is_row = 1 AND place < s.piece_next;

-- derive proof_current_batches
-- Batches whose last offset no election superseded. Batches outside of the ledger have no piece.
SELECT b.*, piece_start, coalesce(layer, 0) AS layer
FROM proof_log_batches AS b LEFT JOIN proof_places AS p
  ON p.log = b.log AND p.generation = b.generation AND p.place = b.last_offset
WHERE coalesce(is_current, true);

-- derive proof_cut_groups
-- Groups of records that are in more than one piece; usually there are none.
SELECT g.log, g.generation, g.base_offset, g.part
FROM proof_log_records AS g LEFT JOIN proof_places AS p
  ON p.log = g.log AND p.generation = g.generation AND p.place = g.first_offset
WHERE first_offset < last_offset AND (p.piece_next <= last_offset OR p.piece_next IS NULL)
  AND EXISTS (SELECT 1 FROM proof_pieces AS e WHERE e.log = g.log AND e.generation = g.generation);

-- derive proof_placed_records
-- Groups of records, with their piece; groups in more than one piece are split by offset.
SELECT g.*, piece_start, layer, is_current
FROM proof_log_records AS g LEFT JOIN proof_places AS p
  ON p.log = g.log AND p.generation = g.generation AND p.place = g.first_offset
WHERE NOT EXISTS (
  SELECT 1 FROM proof_cut_groups AS c
  WHERE c.log = g.log AND c.generation = g.generation AND c.base_offset = g.base_offset
    AND c.part = g.part)
UNION ALL
SELECT c.log, c.generation, c.base_offset, c.part, count(*), r.offset, r.offset, 1,
       sum(CAST(r.offset AS DECIMAL(38, 0))), coalesce(sum(octet_length(key)), 0),
       coalesce(sum(octet_length(value)), 0), min(nullif(timestamp_ms, -1)),
       max(nullif(timestamp_ms, -1)), piece_start, layer, is_current
FROM records AS r JOIN proof_log_ids AS l
  ON r.source_id = l.source_id AND r.topic = l.topic AND r.partition = l.partition
 AND r.topic_id IS NOT DISTINCT FROM l.named_id
JOIN proof_cut_groups AS c
  ON c.log = l.log AND c.generation = r.generation AND c.base_offset = r.batch_base_offset
 AND c.part = (r.offset - r.batch_base_offset) >> 5
LEFT JOIN proof_pieces AS p
  ON p.log = c.log AND p.generation = c.generation
 AND p.piece_start <= r.offset AND r.offset < p.piece_next
GROUP BY c.log, c.generation, c.base_offset, c.part, r.offset, piece_start, layer, is_current;

-- derive proof_batch_rows
-- Rows of records of each batch that the ledger covers and no election superseded.
SELECT log, layer, base_offset, CAST(sum(records) AS BIGINT) AS records,
       min(first_offset) AS first_offset, max(last_offset) AS last_offset
FROM proof_placed_records
WHERE is_current
GROUP BY log, layer, base_offset;

-- derive proof_placed_gaps
-- Gaps, with their piece, and whether the ledger ever covered them. A gap has no generation if its
-- attempt is not in the ledger at its offsets. Gaps that have expired are left out.
WITH own AS (
  SELECT row_number() OVER (ORDER BY g.log, start_offset) AS gap, g.log, start_offset, next_offset,
         cause, detail, attempt_id, stands, CASE WHEN piece_start IS NULL THEN -1 ELSE g.generation
           END AS generation, piece_start, piece_next
  FROM proof_log_gaps AS g LEFT JOIN proof_places AS p
    ON p.log = g.log AND p.generation = g.generation AND p.place = g.start_offset
  LEFT JOIN proof_borders AS e ON e.log = g.log
  WHERE start_offset >= coalesce(border, start_offset) OR cause = 'expired'
),
points AS (
  SELECT log, start_offset AS place, next_offset, CAST(NULL AS BIGINT) AS gap FROM proof_ranges
  UNION ALL
  SELECT log, start_offset, NULL, gap FROM own
),
swept AS (
  SELECT gap, place, max(next_offset) OVER (
      PARTITION BY log ORDER BY place, CASE WHEN gap IS NULL THEN 0 ELSE 1 END
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached
  FROM points
)
SELECT own.*, coalesce(place < reached, false) AS is_covered
FROM own JOIN swept USING (gap);

-- derive proof_erased_in_batches
-- How many offsets of a batch are erased, for batches that have a row less.
WITH erased AS (
  SELECT log, start_offset, next_offset FROM proof_log_gaps WHERE stands AND cause = 'erased'
),
points AS (
  SELECT log, start_offset AS place, 1 AS is_gap, next_offset, next_offset - start_offset AS width
  FROM erased
  UNION ALL
  SELECT b.log, place, 0, NULL, 0
  FROM (SELECT log, base_offset AS place FROM proof_current_batches
        UNION SELECT log, last_offset + 1 FROM proof_current_batches) AS b
  WHERE b.log IN (SELECT log FROM erased)
),
swept AS (
  SELECT log, place, is_gap,
         (sum(width) OVER below) - greatest((max(next_offset) OVER below) - place, 0)
           AS erased_below
  FROM points
  WINDOW below AS (PARTITION BY log ORDER BY place, is_gap
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
counts AS (
  SELECT log, place, coalesce(erased_below, 0) AS erased_below FROM swept WHERE is_gap = 0
)
SELECT b.log, b.layer, b.base_offset, max(stop.erased_below - start.erased_below) AS erased
FROM proof_current_batches AS b
JOIN counts AS start ON start.log = b.log AND start.place = b.base_offset
JOIN counts AS stop ON stop.log = b.log AND stop.place = b.last_offset + 1
GROUP BY b.log, b.layer, b.base_offset;

-- derive proof_damage
-- Damaged bytes by position, from all runs, except expired ones. Bytes that conflict with the log that was ingested first
-- may be damage in a later retake.
WITH found_spans AS (
  SELECT l.log, broker_id, segment, position, raw_sha256,
         defect_code = 'replica_conflict' AS is_conflict,
         max(defect_code) AS defect_code, coalesce(max(length_bytes), 0) AS size_bytes,
         count(*) - count(resolution) AS found,
         max(CASE WHEN resolution IS NULL THEN coalesce(generation, 0) ELSE -1 END) AS damaged_at,
         max(CASE WHEN resolution IS NULL THEN -1 ELSE coalesce(generation, 0) END) AS resolved_at,
         min(coalesce(previous_offset, -1)) AS previous_offset,
         max(coalesce(next_offset, 9223372036854775807)) AS next_offset
  FROM quarantine AS q JOIN proof_log_ids AS l
    ON q.source_id = l.source_id AND q.topic = l.topic AND q.partition = l.partition
   AND q.topic_id IS NOT DISTINCT FROM l.named_id
  LEFT JOIN proof_borders AS e ON e.log = l.log
  WHERE coalesce(previous_offset, -1) + 1 >= coalesce(border, 0)
  GROUP BY l.log, broker_id, segment, position, raw_sha256, defect_code = 'replica_conflict'
)
SELECT *, resolved_at > -1 AND resolved_at >= damaged_at AS is_resolved,
       EXISTS (SELECT 1 FROM proof_ledger AS e
               WHERE e.log = s.log AND e.kind = 'superseded' AND e.generation > s.damaged_at
                 AND e.start_offset <= s.previous_offset + 1
                 AND s.previous_offset + 1 < e.next_offset) AS is_superseded
FROM found_spans AS s;

-- derive proof_sums
-- Sums of records, batches and gaps: for each block, and for each log by current and superseded rows,
-- with and without refills. The columns that do not apply to a row are NULL.
WITH parts AS (
  SELECT log, generation, piece_start, records, offset_sum, key_bytes, value_bytes,
         min_timestamp_ms, max_timestamp_ms, 0 AS batches, 0 AS batch_bytes, 0 AS decoded_rows,
         0 AS other_span, 0 AS lacking, 0 AS gap_span
  FROM proof_placed_records WHERE piece_start IS NOT NULL
  UNION ALL
  SELECT b.log, b.generation, piece_start, 0, 0, 0, 0, NULL, NULL, 1, size_bytes,
         CASE WHEN state = 'decoded' THEN row_count ELSE 0 END,
         CASE WHEN state = 'decoded' THEN 0
              ELSE last_offset + 1 - greatest(base_offset, piece_start) END,
         CASE WHEN state = 'decoded'
              THEN last_offset + 1 - greatest(base_offset, piece_start) - row_count ELSE 0 END, 0
  FROM proof_log_batches AS b JOIN proof_places AS p
    ON p.log = b.log AND p.generation = b.generation AND p.place = b.last_offset
  UNION ALL
  SELECT log, generation, piece_start, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0,
         least(next_offset, piece_next) - start_offset
  FROM proof_placed_gaps WHERE piece_start IS NOT NULL AND coalesce(cause, '') <> 'erased'
)
SELECT log, generation, block_start, is_current, is_refill,
       CAST(sum(records) AS BIGINT) AS records, sum(offset_sum) AS offset_sum,
       CAST(sum(key_bytes) AS BIGINT) AS key_bytes, CAST(sum(value_bytes) AS BIGINT) AS value_bytes,
       min(min_timestamp_ms) AS min_timestamp_ms, max(max_timestamp_ms) AS max_timestamp_ms,
       CAST(sum(batches) AS BIGINT) AS batches, CAST(sum(batch_bytes) AS BIGINT) AS batch_bytes,
       CAST(sum(decoded_rows) AS BIGINT) AS decoded_rows,
       CAST(sum(other_span) AS BIGINT) AS other_span, CAST(sum(lacking) AS BIGINT) AS lacking,
       CAST(sum(gap_span) AS BIGINT) AS gap_span
FROM (SELECT parts.*, block_start, is_current, layer <> 0 AS is_refill
      FROM parts JOIN proof_pieces AS p USING (log, generation, piece_start)) AS placed
GROUP BY GROUPING SETS ((log, generation, block_start), (log, is_current),
                        (log, is_current, is_refill));

-- derive proof_spans
-- The covered parts of current batches and standing gaps. Batches of a refill are a layer; gaps are
-- in all layers.
WITH layers AS (SELECT log, layer FROM proof_ledger UNION SELECT log, 0 FROM proof_log_ids),
all_spans AS (
  SELECT log, layer, base_offset AS start_offset, last_offset + 1 AS next_offset, false AS is_gap
  FROM proof_current_batches
  UNION ALL
  SELECT log, layer, start_offset, next_offset, true
  FROM proof_placed_gaps JOIN layers USING (log) WHERE stands AND coalesce(cause, '') <> 'erased'
),
points AS (
  SELECT log, covered_start AS place, 0 AS is_span, covered_start, covered_next,
         0 AS layer, NULL AS start_offset, NULL AS is_gap
  FROM proof_covered
  UNION ALL
  SELECT log, next_offset - 1, 1, NULL, NULL, layer, start_offset, is_gap FROM all_spans
),
swept AS (
  SELECT log, place, is_span, layer, start_offset, is_gap,
         max(covered_start) OVER below AS covered_start,
         max(covered_next) OVER below AS covered_next
  FROM points
  WINDOW below AS (PARTITION BY log ORDER BY place, is_span
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT log, layer, covered_start, greatest(start_offset, covered_start) AS start_offset,
       place + 1 AS next_offset, is_gap
FROM swept
WHERE is_span = 1 AND place < covered_next;

-- derive proof_block_sums
-- Sums of each block in the ledger, without those of removed rows, and in the tables. A block that
-- expired in part has all offsets from `first_offset` on. The ledger does not say how many records of
-- an erasure across this offset are above it: as many as rows lack, and at most all of them.
WITH removed AS (
  SELECT r.log, r.generation, b.block_start, sum(records) AS records, sum(batches) AS batches,
         sum(offset_sum) AS offset_sum, sum(key_bytes) AS key_bytes,
         sum(value_bytes) AS value_bytes,
         sum(CASE WHEN kind = 'erased' AND r.start_offset >= coalesce(border, 0) THEN records
                  ELSE 0 END) AS erased,
         sum(CASE WHEN kind = 'erased' AND r.start_offset < border AND border < r.next_offset
                  THEN records ELSE 0 END) AS erased_across
  FROM proof_removals AS r JOIN (
    SELECT log, generation, block_start, max(next_offset) AS block_next
    FROM proof_ranges GROUP BY log, generation, block_start
  ) AS b
    ON b.log = r.log AND b.generation = r.generation
   AND b.block_start <= r.start_offset AND r.start_offset < b.block_next
  LEFT JOIN proof_borders AS e ON e.log = r.log
  GROUP BY r.log, r.generation, b.block_start
),
said AS (
  SELECT log, generation, block_start, max(next_offset) AS block_next, max(layer) AS layer,
         greatest(block_start, max(coalesce(border, block_start))) AS first_offset,
         sum(coalesce(records, 0)) AS records, sum(coalesce(batches, 0)) AS batches,
         sum(coalesce(offset_sum, 0)) AS offset_sum, sum(coalesce(key_bytes, 0)) AS key_bytes,
         sum(coalesce(value_bytes, 0)) AS value_bytes, min(min_timestamp_ms) AS min_timestamp_ms,
         max(max_timestamp_ms) AS max_timestamp_ms
  FROM proof_ranges LEFT JOIN proof_borders USING (log)
  GROUP BY log, generation, block_start
  HAVING max(next_offset) > max(coalesce(border, block_start))
)
SELECT s.log, s.block_start, concat('[', s.first_offset, ', ', s.block_next, ')') AS block, s.layer,
       s.block_next - s.first_offset AS covered,
       s.records - coalesce(r.records, 0) AS said_records, coalesce(f.records, 0) AS records,
       s.batches - coalesce(r.batches, 0) AS said_batches, coalesce(f.batches, 0) AS batches,
       s.offset_sum - coalesce(r.offset_sum, 0) AS said_offset_sum,
       coalesce(f.offset_sum, 0) AS offset_sum,
       s.key_bytes - coalesce(r.key_bytes, 0) AS said_key_bytes,
       coalesce(f.key_bytes, 0) AS key_bytes,
       s.value_bytes - coalesce(r.value_bytes, 0) AS said_value_bytes,
       coalesce(f.value_bytes, 0) AS value_bytes,
       coalesce(r.erased, 0) + least(coalesce(erased_across, 0), greatest(
         coalesce(decoded_rows, 0) - coalesce(f.records, 0) - coalesce(r.erased, 0), 0)) AS erased,
       r.log IS NOT NULL AS has_removed,
       s.min_timestamp_ms AS said_min_timestamp_ms, f.min_timestamp_ms,
       s.max_timestamp_ms AS said_max_timestamp_ms, f.max_timestamp_ms,
       coalesce(decoded_rows, 0) AS decoded_rows, coalesce(other_span, 0) AS other_span,
       coalesce(lacking, 0) AS lacking, coalesce(gap_span, 0) AS gap_span
FROM said AS s LEFT JOIN proof_sums AS f
  ON f.log = s.log AND f.generation = s.generation AND f.block_start = s.block_start
LEFT JOIN removed AS r
  ON r.log = s.log AND r.generation = s.generation AND r.block_start = s.block_start;

-- check offset_twice
-- No offset is in records more than once. Only groups with fewer distinct offsets than rows, and
-- groups that overlap, are searched.
WITH sorted AS (
  SELECT log, generation, base_offset, first_offset, last_offset, records, distinct_offsets,
         max(last_offset) OVER (PARTITION BY log ORDER BY first_offset, last_offset
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
         lead(first_offset) OVER (PARTITION BY log ORDER BY first_offset, last_offset) AS following
  FROM proof_placed_records
  WHERE is_current
),
doubtful AS (
  SELECT DISTINCT log, generation, base_offset, first_offset, last_offset
  FROM sorted
  WHERE distinct_offsets < records OR first_offset <= reached OR last_offset >= following
)
SELECT d.log, r.offset AS place, 1 AS number, concat('offset ', r.offset) AS said
FROM records AS r JOIN proof_log_ids AS l
  ON r.source_id = l.source_id AND r.topic = l.topic AND r.partition = l.partition
 AND r.topic_id IS NOT DISTINCT FROM l.named_id
JOIN doubtful AS d
  ON d.log = l.log AND d.generation = r.generation AND d.base_offset = r.batch_base_offset
 AND r.offset BETWEEN d.first_offset AND d.last_offset
GROUP BY d.log, r.offset
HAVING count(*) > 1;

-- check overlap
-- No covered offset is in two batches of a layer, or in both a batch and a gap.
WITH sorted AS (
  SELECT *, max(next_offset) OVER (
      PARTITION BY log, layer, covered_start ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_spans
),
doubles AS (SELECT * FROM sorted WHERE start_offset < reached AND start_offset < next_offset)
SELECT d.log, d.start_offset AS place, 1 AS number,
       concat(CASE WHEN d.is_gap THEN concat('gap [', d.start_offset, ', ', d.next_offset, ')')
                   ELSE concat('batch ', d.start_offset, ' to ', d.next_offset - 1) END,
              ' and ',
              min(CASE WHEN s.is_gap THEN concat('gap [', s.start_offset, ', ', s.next_offset, ')')
                   ELSE concat('batch ', s.start_offset, ' to ', s.next_offset - 1) END)) AS said
FROM doubles AS d JOIN proof_spans AS s
  ON s.log = d.log AND s.layer = d.layer AND s.covered_start = d.covered_start
 AND s.next_offset = d.reached AND s.start_offset <= d.start_offset
GROUP BY d.log, d.layer, d.start_offset, d.next_offset, d.is_gap;

-- check not_accounted
-- Every covered offset is in a batch or in a gap.
WITH points AS (
  SELECT log, covered_start, start_offset, next_offset FROM proof_spans
  UNION ALL SELECT log, covered_start, covered_start, covered_start FROM proof_covered
  UNION ALL SELECT log, covered_start, covered_next, covered_next FROM proof_covered
),
sorted AS (
  SELECT log, start_offset, max(next_offset) OVER (
      PARTITION BY log, covered_start ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM points
)
SELECT log, reached AS place, 1 AS number, concat('[', reached, ', ', start_offset, ')') AS said
FROM sorted
WHERE start_offset > reached;

-- check row_count
-- Every batch has as many rows in records as its row_count, without erased ones.
SELECT b.log, b.base_offset AS place, 1 AS number,
       concat('batch ', b.base_offset, ' to ', b.last_offset, ' counts ', row_count, ' and has ',
              coalesce(r.records, 0)) AS said
FROM proof_current_batches AS b LEFT JOIN proof_batch_rows AS r
  ON r.log = b.log AND r.layer = b.layer AND r.base_offset = b.base_offset
LEFT JOIN proof_erased_in_batches AS e
  ON e.log = b.log AND e.layer = b.layer AND e.base_offset = b.base_offset
WHERE piece_start IS NOT NULL
  AND row_count NOT BETWEEN coalesce(r.records, 0) AND coalesce(r.records, 0) + coalesce(erased, 0);

-- check row_without_batch
-- The batch of every row of records is in batches.
SELECT r.log, r.base_offset AS place, 1 AS number,
       concat('batch_base_offset ', r.base_offset, ' has offsets ', first_offset, ' to ',
              r.last_offset) AS said
FROM proof_batch_rows AS r LEFT JOIN proof_current_batches AS b
  ON b.log = r.log AND b.layer = r.layer AND b.base_offset = r.base_offset
WHERE b.log IS NULL;

-- check row_outside_batch
-- Every row of records has an offset of its batch.
WITH ends AS (
  SELECT log, layer, base_offset, max(last_offset) AS last_offset
  FROM proof_current_batches
  GROUP BY log, layer, base_offset
)
SELECT r.log, r.base_offset AS place, 1 AS number,
       concat('batch_base_offset ', r.base_offset, ' has offsets ', first_offset, ' to ',
              r.last_offset) AS said
FROM proof_batch_rows AS r JOIN ends AS b
  ON b.log = r.log AND b.layer = r.layer AND b.base_offset = r.base_offset
WHERE r.first_offset < r.base_offset OR r.last_offset > b.last_offset;

-- check equation
-- The offsets of a block are those of records, of batches without a record, and of gaps.
SELECT log, block_start AS place, 1 AS number,
       concat(block, ' covers ', covered, ' offsets, and ', records, ' records + ', other_span,
              ' in control, aborted or empty batches + ', lacking, ' lacking in other batches + ',
              erased + gap_span, ' in gaps are ',
              records + other_span + lacking + erased + gap_span) AS said
FROM proof_block_sums
WHERE layer = 0 AND covered <> records + other_span + lacking + erased + gap_span;

-- check ledger_sums
-- The sums of a commit in the ledger equal the sums of its rows. Without removed rows, the times
-- of the other rows lie within those of the ledger.
WITH pairs AS (
  SELECT log, block_start, block, 1 AS place, 'records' AS name,
         CAST(said_records AS DECIMAL(38, 0)) AS said, CAST(records AS DECIMAL(38, 0)) AS found
  FROM proof_block_sums
  UNION ALL SELECT log, block_start, block, 2, 'batches', said_batches, batches
  FROM proof_block_sums
  UNION ALL SELECT log, block_start, block, 3, 'offset_sum', said_offset_sum, offset_sum
  FROM proof_block_sums
  UNION ALL SELECT log, block_start, block, 4, 'key_bytes', said_key_bytes, key_bytes
  FROM proof_block_sums
  UNION ALL SELECT log, block_start, block, 5, 'value_bytes', said_value_bytes, value_bytes
  FROM proof_block_sums
  UNION ALL SELECT log, block_start, block, 6, 'min_timestamp_ms', said_min_timestamp_ms,
                   min_timestamp_ms FROM proof_block_sums
  WHERE NOT has_removed OR min_timestamp_ms < said_min_timestamp_ms
  UNION ALL SELECT log, block_start, block, 7, 'max_timestamp_ms', said_max_timestamp_ms,
                   max_timestamp_ms FROM proof_block_sums
  WHERE NOT has_removed OR max_timestamp_ms > said_max_timestamp_ms
)
SELECT log, block_start AS place, 1 AS number,
       concat(block, ' ', name, ': ', coalesce(CAST(said AS STRING), 'None'), ' in the ledger, ',
              coalesce(CAST(found AS STRING), 'None'), ' in the tables') AS said
FROM pairs
WHERE said IS DISTINCT FROM found
UNION ALL
SELECT log, block_start, 1,
       concat(block, ' batches count ', decoded_rows, ' rows, records has ', records)
FROM proof_block_sums
WHERE decoded_rows <> records + erased;

-- check outside_ledger
-- The ledger covers the offset of every row.
SELECT log, first_offset AS place, records AS number,
       concat('records has offset ', first_offset) AS said
FROM proof_placed_records
WHERE piece_start IS NULL
UNION ALL
SELECT log, last_offset, 1, concat('batches has offsets ', base_offset, ' to ', last_offset)
FROM proof_current_batches
WHERE piece_start IS NULL
UNION ALL
SELECT log, start_offset, 1, concat('gaps has offsets [', start_offset, ', ', next_offset, ')')
FROM proof_placed_gaps
WHERE NOT is_covered AND coalesce(cause, '') <> 'expired';

-- check gap_beyond_coverage
-- Every gap is within the ranges of its commit.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ')') AS said
FROM proof_placed_gaps
WHERE next_offset > piece_next AND coalesce(cause, '') <> 'erased';

-- check unknown_attempt
-- The attempt of every gap is in the ledger at the gap's offsets.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') of ', attempt_id) AS said
FROM proof_placed_gaps AS g
WHERE is_covered AND generation = -1 AND coalesce(cause, '') NOT IN ('erased', 'expired')
   OR cause IN ('erased', 'expired') AND NOT EXISTS (
     SELECT 1 FROM proof_ledger AS e
     WHERE e.log = g.log AND e.attempt_id = g.attempt_id AND e.kind = g.cause
       AND e.start_offset <= g.start_offset AND g.start_offset < e.next_offset);

-- check unknown_cause
-- Every gap has a known cause.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') ''', coalesce(cause, ''), '''') AS said
FROM proof_placed_gaps
WHERE stands AND is_covered
  AND coalesce(cause, '') NOT IN ('compacted', 'erased', 'expired', 'deleted', 'marker',
                                  'deleted_or_lost', 'remote', 'undecided', 'quarantined',
                                  'missing');

-- check removed_gaps
-- The offsets of erased and expired records are gaps, and no others are.
WITH said AS (
  SELECT log, attempt_id, kind, sum(records) AS offsets
  FROM proof_removals
  WHERE kind = 'erased' AND NOT was_lost
  GROUP BY log, attempt_id, kind
  UNION ALL
  SELECT log, attempt_id, kind, sum(next_offset - start_offset)
  FROM proof_ledger
  WHERE kind = 'expired' AND removed_generation IS NULL
  GROUP BY log, attempt_id, kind
),
found AS (
  SELECT log, attempt_id, cause AS kind, sum(next_offset - start_offset) AS offsets
  FROM proof_log_gaps
  WHERE cause IN ('erased', 'expired')
  GROUP BY log, attempt_id, cause
)
SELECT log, 1 AS place, 1 AS number,
       concat(kind, ': ', coalesce(s.offsets, 0), ' in the ledger, ', coalesce(f.offsets, 0),
              ' in gaps') AS said
FROM said AS s FULL JOIN found AS f USING (log, attempt_id, kind)
LEFT JOIN proof_borders USING (log)
WHERE coalesce(s.offsets, 0) <> coalesce(f.offsets, 0) AND (kind = 'expired' OR border IS NULL);

-- check removed_back
-- No record is at an expired offset.
SELECT l.log, first_offset AS place, records AS number, concat('offset ', first_offset) AS said
FROM proof_record_groups AS g JOIN proof_log_ids AS l
  ON g.source_id = l.source_id AND g.topic = l.topic AND g.partition = l.partition
 AND g.topic_id IS NOT DISTINCT FROM l.named_id
JOIN proof_borders AS e ON e.log = l.log
WHERE first_offset < border;

-- check not_swept
-- No other table has a row of an expired offset.
WITH places AS (
  SELECT source_id, topic_id, topic, partition, 'batches' AS name, last_offset AS place FROM batches
  UNION ALL SELECT source_id, topic_id, topic, partition, 'gaps', start_offset FROM gaps
  WHERE coalesce(cause, '') <> 'expired'
  UNION ALL
  SELECT source_id, topic_id, topic, partition, 'quarantine', coalesce(previous_offset, -1) + 1
  FROM quarantine
  UNION ALL
  SELECT source_id, topic_id, topic, partition, 'salvaged_records', s.offset
  FROM salvaged_records AS s
)
SELECT l.log, min(place) AS place, count(*) AS number,
       concat(name, ' has ', count(*), ' below ', border) AS said
FROM places AS p JOIN proof_log_ids AS l
  ON p.source_id = l.source_id AND p.topic = l.topic AND p.partition = l.partition
 AND p.topic_id IS NOT DISTINCT FROM l.named_id
JOIN proof_borders AS e ON e.log = l.log
WHERE place < border
GROUP BY l.log, name, border;

-- check no_evidence
-- The damaged bytes of every quarantined gap are in quarantine.
WITH points AS (
  SELECT log, previous_offset AS place, next_offset AS damage_next, 1 AS is_damage,
         CAST(NULL AS BIGINT) AS start_offset
  FROM proof_damage
  WHERE NOT is_conflict AND NOT is_resolved AND NOT is_superseded
  UNION ALL
  SELECT log, next_offset, NULL, 0, start_offset
  FROM proof_placed_gaps
  WHERE stands AND is_covered AND cause IN ('quarantined', 'marker')
),
swept AS (
  SELECT *, max(damage_next) OVER (PARTITION BY log ORDER BY place, is_damage
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached
  FROM points
)
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', place, ')') AS said
FROM swept
WHERE is_damage = 0 AND coalesce(reached <= start_offset, true);

-- check missing
-- No gap has the cause missing.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ')') AS said
FROM proof_placed_gaps
WHERE stands AND is_covered AND cause = 'missing';

-- check outcome
-- A transaction is ingested with the outcome of its producer's next marker, if all offsets between
-- them have batches: otherwise another marker may have been there.
WITH ordered AS (
  SELECT *, max(last_offset) OVER (PARTITION BY log ORDER BY base_offset
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_current_batches
  WHERE log IN (SELECT log FROM proof_current_batches WHERE control_type IN ('commit', 'abort'))
),
in_runs AS (
  SELECT *, max(CASE WHEN base_offset <= reached + 1 THEN NULL ELSE base_offset END) OVER (
      PARTITION BY log ORDER BY base_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS run_start
  FROM ordered
),
events AS (
  SELECT log, run_start, producer_id, base_offset, last_offset,
         coalesce(control_type IN ('commit', 'abort'), false) AS is_marker,
         CASE WHEN control_type IN ('commit', 'abort') THEN control_type = 'commit'
              ELSE transaction_state IN ('commit', 'committed') END AS is_commit
  FROM in_runs
  WHERE control_type IN ('commit', 'abort')
     OR transaction_state IN ('commit', 'committed', 'abort', 'aborted') AND state <> 'empty'
),
ended AS (
  SELECT *, min(CASE WHEN is_marker THEN base_offset END) OVER (
      PARTITION BY log, producer_id ORDER BY base_offset
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS marker_offset
  FROM events
)
SELECT e.log, e.marker_offset AS place, 1 AS number,
       concat('producer ', e.producer_id, '''s data up to offset ', min(e.last_offset),
              ' was ingested as ', CASE WHEN m.is_commit THEN 'aborted' ELSE 'committed' END,
              ', the marker at offset ', e.marker_offset, ' says ',
              CASE WHEN m.is_commit THEN 'committed' ELSE 'aborted' END) AS said
FROM ended AS e JOIN events AS m
  ON m.log = e.log AND m.producer_id = e.producer_id AND m.base_offset = e.marker_offset
 AND m.run_start = e.run_start
WHERE m.is_marker AND NOT e.is_marker AND m.is_commit <> e.is_commit
GROUP BY e.log, e.producer_id, e.marker_offset, m.is_commit;

-- check repair_outside
-- Repairs and refills are within ingested ranges.
WITH ordered AS (
  SELECT log, start_offset, next_offset, max(next_offset) OVER (
      PARTITION BY log ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_ledger
  WHERE kind IN ('ingest', 'retake') AND start_offset < next_offset
),
numbered AS (
  SELECT *, max(CASE WHEN start_offset <= reached THEN NULL ELSE start_offset END) OVER (
      PARTITION BY log ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS low
  FROM ordered
),
ingested AS (SELECT log, low, max(next_offset) AS high FROM numbered GROUP BY log, low)
SELECT f.log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ')') AS said
FROM proof_ledger AS f LEFT JOIN ingested AS i
  ON i.log = f.log AND i.low <= f.start_offset AND f.next_offset <= i.high
WHERE kind IN ('repair', 'refill') AND i.log IS NULL;

-- check unknown_kind
-- Every range of the ledger has a known kind.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') ''', kind, '''') AS said
FROM proof_ledger
WHERE kind NOT IN ('ingest', 'repair', 'refill', 'superseded', 'retake', 'released', 'erased',
                   'expired');

-- check bytes
-- Bytes, damage and superseded rows of a whole partition equal the counts in the ledger, without
-- those of removed rows.
WITH parts AS (
  SELECT log, coalesce(bytes, 0) AS bytes, coalesce(quarantined_batches, 0) AS spans,
         CASE WHEN kind = 'superseded' THEN coalesce(records, 0) ELSE 0 END AS records,
         CASE WHEN kind = 'superseded' THEN coalesce(batches, 0) ELSE 0 END AS batches
  FROM proof_ledger WHERE kind NOT IN ('erased', 'expired')
  UNION ALL
  SELECT log, -bytes, -spans, CASE WHEN was_lost THEN -records ELSE 0 END,
         CASE WHEN was_lost THEN -batches ELSE 0 END
  FROM proof_removals
),
said AS (
  SELECT log, sum(bytes) AS bytes, sum(spans) AS spans, sum(records) AS records,
         sum(batches) AS batches
  FROM parts GROUP BY log
),
found AS (
  SELECT log, sum(batch_bytes) AS bytes,
         sum(CASE WHEN is_current THEN 0 ELSE records END) AS records,
         sum(CASE WHEN is_current THEN 0 ELSE batches END) AS batches
  FROM proof_sums WHERE block_start IS NULL AND is_refill IS NULL GROUP BY log
),
quarantined AS (
  SELECT log, sum(greatest(found, 1) * size_bytes) AS bytes, sum(greatest(found, 1)) AS spans
  FROM proof_damage WHERE NOT is_conflict GROUP BY log
),
pairs AS (
  SELECT l.log, coalesce(s.bytes, 0) AS said_bytes, coalesce(f.bytes, 0) AS bytes,
         coalesce(q.bytes, 0) AS quarantined_bytes, coalesce(s.spans, 0) AS said_spans,
         coalesce(q.spans, 0) AS spans, coalesce(s.records, 0) AS said_records,
         coalesce(f.records, 0) AS records, coalesce(s.batches, 0) AS said_batches,
         coalesce(f.batches, 0) AS batches
  FROM (SELECT DISTINCT log FROM proof_log_ids) AS l LEFT JOIN said AS s ON s.log = l.log
  LEFT JOIN found AS f ON f.log = l.log LEFT JOIN quarantined AS q ON q.log = l.log
)
SELECT log, 1 AS place, 1 AS number,
       concat('bytes: ', said_bytes, ' in the ledger, ', bytes, ' in batches + ', quarantined_bytes,
              ' in quarantine') AS said
FROM pairs WHERE said_bytes <> bytes + quarantined_bytes
UNION ALL
SELECT log, 2, 1,
       concat('quarantined_batches: ', said_spans, ' in the ledger, ', spans, ' in quarantine')
FROM pairs WHERE said_spans <> spans
UNION ALL
SELECT log, 3, 1,
       concat('superseded records: ', said_records, ' in the ledger, ', records, ' in the tables')
FROM pairs WHERE said_records <> records
UNION ALL
SELECT log, 4, 1,
       concat('superseded batches: ', said_batches, ' in the ledger, ', batches, ' in the tables')
FROM pairs WHERE said_batches <> batches;

-- derive proof_salvaged_batches
-- Damaged batches with records in salvaged_records, with their rows of quarantine.
WITH salvaged AS (
  SELECT source_id, topic, partition, broker_id, segment, position, raw_sha256, generation,
         count(*) AS records, count(DISTINCT s.offset) AS distinct_offsets,
         min(s.offset) AS first_offset, max(s.offset) AS last_offset
  FROM salvaged_records AS s
  GROUP BY ALL
),
damaged AS (
  SELECT source_id, topic, partition, broker_id, segment, position, raw_sha256, generation,
         max(previous_offset) AS previous_offset, max(next_offset) AS next_offset
  FROM quarantine
  WHERE resolution IS NULL
    AND defect_code IN ('crc_mismatch', 'inner_crc_mismatch', 'replica_conflict')
  GROUP BY ALL
),
resolved AS (
  SELECT source_id, topic, partition, broker_id, segment, position, raw_sha256,
         max(generation) AS resolved_at
  FROM quarantine
  WHERE resolution IS NOT NULL
  GROUP BY ALL
)
SELECT s.*, concat(s.topic, '-', s.partition) AS log_name, d.source_id IS NOT NULL AS is_known,
       d.previous_offset, d.next_offset, coalesce(r.resolved_at, -1) >= s.generation AS is_resolved
FROM salvaged AS s LEFT JOIN damaged AS d
  ON d.source_id = s.source_id AND d.topic = s.topic AND d.partition = s.partition
 AND d.broker_id IS NOT DISTINCT FROM s.broker_id AND d.segment = s.segment
 AND d.position = s.position AND d.raw_sha256 = s.raw_sha256 AND d.generation = s.generation
LEFT JOIN resolved AS r
  ON r.source_id = s.source_id AND r.topic = s.topic AND r.partition = s.partition
 AND r.broker_id IS NOT DISTINCT FROM s.broker_id AND r.segment = s.segment
 AND r.position = s.position AND r.raw_sha256 = s.raw_sha256;

-- check salvaged_alone
-- Every salvaged batch has a row in quarantine.
SELECT 0 AS log, position AS place, 1 AS number, log_name AS said
FROM proof_salvaged_batches WHERE NOT is_known;

-- check salvaged_twice
-- No batch is salvaged more than once; its copies on several losing replicas count as one.
SELECT 0 AS log, 0 AS place, 1 AS number, max(concat(topic, '-', partition)) AS said
FROM salvaged_records AS s
GROUP BY source_id, topic, topic_id, partition, raw_sha256, defect_code = 'replica_conflict',
         CASE WHEN defect_code <> 'replica_conflict'
              THEN concat_ws(' ', broker_id, segment, position, generation) END
HAVING count(*) > count(DISTINCT s.offset);

-- check salvaged_outside
-- Offsets of salvaged records are between those of the sound batches around the damage.
SELECT 0 AS log, position AS place, 1 AS number, log_name AS said
FROM proof_salvaged_batches
WHERE is_known AND (first_offset <= previous_offset OR last_offset >= next_offset);

-- fact totals
-- Sums of each log: of current rows, of refills among them, and of superseded rows.
SELECT *, CASE WHEN NOT is_current THEN 'lost' WHEN is_refill THEN 'refilled'
               ELSE 'current' END AS part
FROM proof_sums
WHERE block_start IS NULL AND (is_refill IS NULL OR is_current AND is_refill);

-- fact gap_counts
-- Standing gaps of each log by cause. Expired gaps with a detail were losses before they expired.
SELECT log, cause, count(*) AS gaps, CAST(sum(next_offset - start_offset) AS BIGINT) AS offsets,
       CAST(sum(CASE WHEN cause = 'expired' AND detail IS NOT NULL
                     THEN next_offset - start_offset ELSE 0 END) AS BIGINT) AS expired_loss
FROM proof_placed_gaps
WHERE stands AND (is_covered OR cause = 'expired')
GROUP BY log, cause;

-- fact listed_gaps
-- Standing gaps of each log, except those that the cleaner made, and erased records.
SELECT log, cause, start_offset, next_offset, detail
FROM proof_placed_gaps
WHERE stands AND (is_covered OR cause = 'expired') AND cause NOT IN ('compacted', 'erased')
ORDER BY log, start_offset;

-- fact evidence
-- For the first gaps of each log, the first damaged bytes that may have their offsets, and a count.
WITH shown AS (
  SELECT log, gap, start_offset, next_offset,
         row_number() OVER (PARTITION BY log, cause ORDER BY start_offset) AS number
  FROM proof_placed_gaps
  WHERE stands AND is_covered AND cause IN ('quarantined', 'marker')
),
near AS (
  SELECT g.log, g.start_offset, concat(defect_code, ' at ', segment, ', byte ', position) AS said,
         row_number() OVER (PARTITION BY gap ORDER BY d.previous_offset, segment, position)
           AS number,
         count(*) OVER (PARTITION BY gap) AS total
  FROM shown AS g JOIN proof_damage AS d
    ON d.log = g.log AND d.previous_offset < g.next_offset AND d.next_offset > g.start_offset
  WHERE g.number <= 20 AND NOT d.is_conflict AND NOT d.is_resolved AND NOT d.is_superseded
)
SELECT log, start_offset, said, total
FROM near
WHERE number <= 3
ORDER BY log, start_offset, number;

-- fact damage_counts
-- Damaged spans of each log by defect.
SELECT log, coalesce(defect_code, 'None') AS defect_code, is_conflict, count(*) AS spans,
       CAST(sum(size_bytes) AS BIGINT) AS size_bytes,
       CAST(sum(greatest(found, 1)) AS BIGINT) AS found_spans,
       CAST(sum(greatest(found, 1) * size_bytes) AS BIGINT) AS found_bytes,
       count(CASE WHEN is_resolved THEN 1 END) AS resolved
FROM proof_damage
GROUP BY log, defect_code, is_conflict;

-- fact losing_batches
-- Sound batches of replicas that lost to the ingested log, each once even if several replicas have
-- it. Batches that won an election are not listed: a retake ingests them.
SELECT log,
       CASE WHEN defect_detail LIKE '% lost an election%' THEN 'lost_election'
            ELSE 'replicas_differ' END AS kind,
       base_offset, last_offset, max(record_count) AS record_count
FROM quarantine AS q JOIN proof_log_ids AS l
  ON q.source_id = l.source_id AND q.topic = l.topic AND q.partition = l.partition
 AND q.topic_id IS NOT DISTINCT FROM l.named_id
WHERE defect_code = 'replica_conflict' AND coalesce(defect_detail, '') NOT LIKE '%won an election%'
  AND base_offset IS NOT NULL AND last_offset IS NOT NULL
GROUP BY log, CASE WHEN defect_detail LIKE '% lost an election%' THEN 'lost_election'
                   ELSE 'replicas_differ' END, base_offset, last_offset, expected_crc, length_bytes
ORDER BY log, base_offset;

-- fact open_transactions
-- Records of open transactions.
WITH ended AS (
  SELECT log, producer_id, max(base_offset) AS marker_offset
  FROM proof_current_batches
  WHERE control_type IN ('commit', 'abort')
  GROUP BY log, producer_id
)
SELECT b.log, b.producer_id, min(base_offset) AS first_offset,
       CAST(sum(row_count) AS BIGINT) AS records
FROM proof_current_batches AS b LEFT JOIN ended AS e
  ON e.log = b.log AND e.producer_id = b.producer_id
WHERE transaction_state = 'open' AND (marker_offset IS NULL OR base_offset > marker_offset)
GROUP BY b.log, b.producer_id
ORDER BY b.log, first_offset;

-- fact salvaged
-- Salvaged records whose damage no repair has resolved.
SELECT CAST(coalesce(sum(records), 0) AS BIGINT) AS records, count(*) AS batches
FROM proof_salvaged_batches
WHERE NOT is_resolved;

-- fact logs
-- Names of the logs.
SELECT DISTINCT log, source_id, topic_id, topic, partition FROM proof_log_ids;
