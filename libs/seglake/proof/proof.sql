-- The proof of a lake: what must hold of its tables, as queries for DuckDB and Spark.
--
-- "derive" is a table that later queries use. "check" gives no row where its sentence holds; a row
-- has the log, a place to order by, how many rows or offsets are meant, and what is wrong in words.
-- "fact" is a sum that the audit prints. Ranges are half-open.

-- derive proof_record_groups
-- Rows of records by batch, 32 offsets at a time: bit i of a mask stands for the i-th of them, so
-- that as many bits as rows prove that no offset is there twice.
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
-- A number for each log. Rows without a topic id belong to the first id that the ledger knows.
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
-- Ranges of the ledger. Batches of a refill overlap those that lack records: they are a layer of
-- their own, named by their generation; all others are layer 0.
SELECT log, coalesce(kind, '') AS kind, start_offset, next_offset, generation, attempt_id,
       records, batches, quarantined_batches, bytes, offset_sum, key_bytes, value_bytes,
       min_timestamp_ms, max_timestamp_ms,
       max(CASE WHEN kind = 'refill' THEN generation ELSE 0 END)
         OVER (PARTITION BY log, generation) AS layer
FROM checkpoints AS c JOIN proof_log_ids AS l
  ON c.source_id = l.source_id AND c.topic = l.topic AND c.partition = l.partition
 AND c.topic_id IS NOT DISTINCT FROM l.named_id;

-- derive proof_ranges
-- Ranges that brought rows; those of one commit that overlap are one block, compared as a whole.
WITH ordered AS (
  SELECT *, max(next_offset) OVER (
      PARTITION BY log, generation ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM proof_ledger
  WHERE kind NOT IN ('superseded', 'released') AND start_offset < next_offset
)
SELECT *, max(CASE WHEN start_offset < reached THEN NULL ELSE start_offset END) OVER (
    PARTITION BY log, generation ORDER BY start_offset, next_offset
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS block_start
FROM ordered;

-- derive proof_pieces
-- Blocks, cut where an election took a part away: all rows of a piece are current, or none is.
WITH blocks AS (
  SELECT log, generation, layer, block_start, max(next_offset) AS block_next
  FROM proof_ranges
  GROUP BY ALL
),
lost AS (
  SELECT log, generation, start_offset, next_offset FROM proof_ledger WHERE kind = 'superseded'
),
edges AS (
  SELECT *, block_start AS edge FROM blocks
  UNION SELECT b.*, e.edge
  FROM blocks AS b JOIN (
    SELECT log, generation, start_offset AS edge FROM lost
    UNION SELECT log, generation, next_offset FROM lost
  ) AS e ON e.log = b.log AND e.generation > b.generation
        AND e.edge > b.block_start AND e.edge < b.block_next
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
-- Offsets that the ledger covers and no election took away; ranges that touch are one.
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
-- Gaps with the generation of the commit that recorded them, and whether they still stand: a later
-- repair states anew what is still missing, and an election takes gaps away with the rows around
-- them. A range that begins at or below a gap and ends above its start ends it: one sweep for each
-- commit that may end gaps.
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
  WHERE kind IN ('repair', 'refill', 'superseded')
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
-- Groups of records with their log.
SELECT log, generation, base_offset, part, records, first_offset, last_offset, distinct_offsets,
       CAST(base_offset AS DECIMAL(19, 0)) * CAST(records AS DECIMAL(19, 0)) + sum_from_base
         AS offset_sum, key_bytes, value_bytes, min_timestamp_ms, max_timestamp_ms
FROM proof_record_groups AS g JOIN proof_log_ids AS l
  ON g.source_id = l.source_id AND g.topic = l.topic AND g.partition = l.partition
 AND g.topic_id IS NOT DISTINCT FROM l.named_id;

-- derive proof_log_batches
-- Batches with their log. A batch counts where its last offset lies.
SELECT log, generation, base_offset, last_offset, coalesce(row_count, -1) AS row_count,
       coalesce(size_bytes, 0) AS size_bytes, coalesce(state, '') AS state,
       coalesce(producer_id, -1) AS producer_id, control_type, transaction_state
FROM batches AS b JOIN proof_log_ids AS l
  ON b.source_id = l.source_id AND b.topic = l.topic AND b.partition = l.partition
 AND b.topic_id IS NOT DISTINCT FROM l.named_id;

-- derive proof_places
-- The piece of its own commit that each row lies in: one sweep over all offsets of the commit.
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
-- Batches of which no election took the last offset away. Those outside of the ledger have no
-- piece.
SELECT b.*, piece_start, coalesce(layer, 0) AS layer
FROM proof_log_batches AS b LEFT JOIN proof_places AS p
  ON p.log = b.log AND p.generation = b.generation AND p.place = b.last_offset
WHERE coalesce(is_current, true);

-- derive proof_cut_groups
-- Groups of records that do not lie in one piece: mostly none.
SELECT g.log, g.generation, g.base_offset, g.part
FROM proof_log_records AS g LEFT JOIN proof_places AS p
  ON p.log = g.log AND p.generation = g.generation AND p.place = g.first_offset
WHERE first_offset < last_offset AND (p.piece_next <= last_offset OR p.piece_next IS NULL)
  AND EXISTS (SELECT 1 FROM proof_pieces AS e WHERE e.log = g.log AND e.generation = g.generation);

-- derive proof_placed_records
-- Groups of records with their piece; of cut groups, each offset by itself.
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
-- What records has of each batch, where the ledger covers it and no election took it away.
SELECT log, layer, base_offset, CAST(sum(records) AS BIGINT) AS records,
       min(first_offset) AS first_offset, max(last_offset) AS last_offset
FROM proof_placed_records
WHERE is_current
GROUP BY log, layer, base_offset;

-- derive proof_placed_gaps
-- Gaps with their piece, and whether the ledger ever covered them. A gap whose attempt is not in the
-- ledger there has no generation.
WITH own AS (
  SELECT row_number() OVER (ORDER BY g.log, start_offset) AS gap, g.log, start_offset, next_offset,
         cause, detail, attempt_id, stands, CASE WHEN piece_start IS NULL THEN -1 ELSE g.generation
           END AS generation, piece_start, piece_next
  FROM proof_log_gaps AS g LEFT JOIN proof_places AS p
    ON p.log = g.log AND p.generation = g.generation AND p.place = g.start_offset
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

-- derive proof_damage
-- Damaged bytes by place, in whatever runs they were found. What conflicts with the log that was
-- read first may be damage to a retake of it.
WITH found_spans AS (
  SELECT log, broker_id, segment, position, raw_sha256,
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
  GROUP BY ALL
)
SELECT *, resolved_at > -1 AND resolved_at >= damaged_at AS is_resolved,
       EXISTS (SELECT 1 FROM proof_ledger AS e
               WHERE e.log = s.log AND e.kind = 'superseded' AND e.generation > s.damaged_at
                 AND e.start_offset <= s.previous_offset + 1
                 AND s.previous_offset + 1 < e.next_offset) AS is_superseded
FROM found_spans AS s;

-- derive proof_sums
-- What records, batches and gaps account for: of each block; of each log, of its current rows and of
-- those that lost an election, with and without refills (blocks, and what is not split, are NULL).
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
  FROM proof_placed_gaps WHERE piece_start IS NOT NULL
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
-- Current batches and standing gaps that end where the ledger covers, each from there on. Batches
-- of a refill are a layer of their own; gaps are in all layers.
WITH layers AS (SELECT log, layer FROM proof_ledger UNION SELECT log, 0 FROM proof_log_ids),
all_spans AS (
  SELECT log, layer, base_offset AS start_offset, last_offset + 1 AS next_offset, false AS is_gap
  FROM proof_current_batches
  UNION ALL
  SELECT log, layer, start_offset, next_offset, true
  FROM proof_placed_gaps JOIN layers USING (log) WHERE stands
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
-- What the ledger says of each block beside what the tables have of it.
WITH said AS (
  SELECT log, generation, block_start, max(next_offset) AS block_next, max(layer) AS layer,
         sum(coalesce(records, 0)) AS records, sum(coalesce(batches, 0)) AS batches,
         sum(coalesce(offset_sum, 0)) AS offset_sum, sum(coalesce(key_bytes, 0)) AS key_bytes,
         sum(coalesce(value_bytes, 0)) AS value_bytes, min(min_timestamp_ms) AS min_timestamp_ms,
         max(max_timestamp_ms) AS max_timestamp_ms
  FROM proof_ranges
  GROUP BY log, generation, block_start
)
SELECT s.log, s.block_start, concat('[', s.block_start, ', ', s.block_next, ')') AS block, s.layer,
       s.block_next - s.block_start AS covered,
       s.records AS said_records, coalesce(f.records, 0) AS records,
       s.batches AS said_batches, coalesce(f.batches, 0) AS batches,
       s.offset_sum AS said_offset_sum, coalesce(f.offset_sum, 0) AS offset_sum,
       s.key_bytes AS said_key_bytes, coalesce(f.key_bytes, 0) AS key_bytes,
       s.value_bytes AS said_value_bytes, coalesce(f.value_bytes, 0) AS value_bytes,
       s.min_timestamp_ms AS said_min_timestamp_ms, f.min_timestamp_ms,
       s.max_timestamp_ms AS said_max_timestamp_ms, f.max_timestamp_ms,
       coalesce(decoded_rows, 0) AS decoded_rows, coalesce(other_span, 0) AS other_span,
       coalesce(lacking, 0) AS lacking, coalesce(gap_span, 0) AS gap_span
FROM said AS s LEFT JOIN proof_sums AS f
  ON f.log = s.log AND f.generation = s.generation AND f.block_start = s.block_start;

-- check offset_twice
-- No offset is more than once in records. Only groups with fewer different offsets than rows, or
-- that reach into each other, can have one.
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
-- No covered offset lies in two batches of a layer, or in a batch and a gap.
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
-- Every covered offset lies in a batch or in a gap.
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
-- Every batch has as many rows in records as it counts.
SELECT b.log, b.base_offset AS place, 1 AS number,
       concat('batch ', b.base_offset, ' to ', b.last_offset, ' counts ', row_count, ' and has ',
              coalesce(r.records, 0)) AS said
FROM proof_current_batches AS b LEFT JOIN proof_batch_rows AS r
  ON r.log = b.log AND r.layer = b.layer AND r.base_offset = b.base_offset
WHERE piece_start IS NOT NULL AND coalesce(r.records, 0) <> row_count;

-- check row_without_batch
-- Every row of records has its batch in batches.
SELECT r.log, r.base_offset AS place, 1 AS number,
       concat('batch_base_offset ', r.base_offset, ' has offsets ', first_offset, ' to ',
              r.last_offset) AS said
FROM proof_batch_rows AS r LEFT JOIN proof_current_batches AS b
  ON b.log = r.log AND b.layer = r.layer AND b.base_offset = r.base_offset
WHERE b.log IS NULL;

-- check row_outside_batch
-- Every row of records lies between the offsets of its batch.
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
-- The offsets of a block are its records, what batches have without a record, and its gaps.
SELECT log, block_start AS place, 1 AS number,
       concat(block, ' covers ', covered, ' offsets, and ', records, ' records + ', other_span,
              ' in control, aborted or empty batches + ', lacking, ' lacking in other batches + ',
              gap_span, ' in gaps are ', records + other_span + lacking + gap_span) AS said
FROM proof_block_sums
WHERE layer = 0 AND covered <> records + other_span + lacking + gap_span;

-- check ledger_sums
-- The sums that a commit left in the ledger are those of the rows that it brought.
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
  UNION ALL SELECT log, block_start, block, 7, 'max_timestamp_ms', said_max_timestamp_ms,
                   max_timestamp_ms FROM proof_block_sums
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
WHERE decoded_rows <> records;

-- check outside_ledger
-- Every row lies in what the ledger covers.
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
WHERE NOT is_covered;

-- check gap_beyond_coverage
-- No gap reaches beyond what its commit covers.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ')') AS said
FROM proof_placed_gaps
WHERE next_offset > piece_next;

-- check unknown_attempt
-- Every gap is of an attempt that the ledger has there.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') of ', attempt_id) AS said
FROM proof_placed_gaps
WHERE is_covered AND generation = -1;

-- check unknown_cause
-- Every gap has a cause that there is.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') ''', coalesce(cause, ''), '''') AS said
FROM proof_placed_gaps
WHERE stands AND is_covered
  AND coalesce(cause, '') NOT IN ('compacted', 'deleted', 'marker', 'deleted_or_lost', 'remote',
                                  'undecided', 'quarantined', 'missing');

-- check no_evidence
-- Where a gap is of damaged bytes, they are in quarantine.
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
-- No gap is without an explanation.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ')') AS said
FROM proof_placed_gaps
WHERE stands AND is_covered AND cause = 'missing';

-- check outcome
-- A transaction was ingested as the next marker of its producer says, if no offset between them is
-- without a batch: another marker may have stood there.
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
-- Repairs and refills lie in what was ingested.
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
-- Every range of the ledger has a kind that there is.
SELECT log, start_offset AS place, 1 AS number,
       concat('[', start_offset, ', ', next_offset, ') ''', kind, '''') AS said
FROM proof_ledger
WHERE kind NOT IN ('ingest', 'repair', 'refill', 'superseded', 'retake', 'released');

-- check bytes
-- Bytes, damage and superseded rows of a whole partition are those that the ledger counts.
WITH said AS (
  SELECT log, sum(coalesce(bytes, 0)) AS bytes, sum(coalesce(quarantined_batches, 0)) AS spans,
         sum(CASE WHEN kind = 'superseded' THEN coalesce(records, 0) ELSE 0 END) AS records,
         sum(CASE WHEN kind = 'superseded' THEN coalesce(batches, 0) ELSE 0 END) AS batches
  FROM proof_ledger GROUP BY log
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
-- Damaged batches with records in salvaged_records, and their rows of quarantine.
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
-- Every salvaged batch has its row in quarantine.
SELECT 0 AS log, position AS place, 1 AS number, log_name AS said
FROM proof_salvaged_batches WHERE NOT is_known;

-- check salvaged_twice
-- No batch is salvaged more than once; copies of it on several losing replicas are one.
SELECT 0 AS log, 0 AS place, 1 AS number, max(concat(topic, '-', partition)) AS said
FROM salvaged_records AS s
GROUP BY source_id, topic, topic_id, partition, raw_sha256, defect_code = 'replica_conflict',
         CASE WHEN defect_code <> 'replica_conflict'
              THEN concat_ws(' ', broker_id, segment, position, generation) END
HAVING count(*) > count(DISTINCT s.offset);

-- check salvaged_outside
-- Salvaged records lie between the sound batches around the damage.
SELECT 0 AS log, position AS place, 1 AS number, log_name AS said
FROM proof_salvaged_batches
WHERE is_known AND (first_offset <= previous_offset OR last_offset >= next_offset);

-- fact totals
-- Sums of each log: of rows that count, of refills among them, and of rows that lost an election.
SELECT *, CASE WHEN NOT is_current THEN 'lost' WHEN is_refill THEN 'refilled'
               ELSE 'current' END AS part
FROM proof_sums
WHERE block_start IS NULL AND (is_refill IS NULL OR is_current AND is_refill);

-- fact gap_counts
-- Standing gaps of each log by cause.
SELECT log, cause, count(*) AS gaps, CAST(sum(next_offset - start_offset) AS BIGINT) AS offsets
FROM proof_placed_gaps
WHERE stands AND is_covered
GROUP BY log, cause;

-- fact listed_gaps
-- Standing gaps of each log, but for what the cleaner left.
SELECT log, cause, start_offset, next_offset, detail
FROM proof_placed_gaps
WHERE stands AND is_covered AND cause <> 'compacted'
ORDER BY log, start_offset;

-- fact evidence
-- The first damaged bytes that may hide the first gaps of each log, and how many there are.
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
-- Sound batches of replicas that lost to the ingested log, each once, though several replicas have
-- it. A retake ingests those that won.
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
-- Records of transactions that no marker has ended.
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
