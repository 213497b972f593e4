-- Facts that a report draws and lists, from the tables that proof.sql derives, in DuckDB's SQL.
-- `own_queries` of run.py sets $most_ranges and $most_places.

-- fact gap_ranges
-- Current gaps of each log by cause. Gaps too close to be drawn apart are one range,
-- with the number of offsets that are missing in it, and of those that were lost before they expired.
WITH extents AS (
  SELECT log, (max(next_offset) - min(start_offset)) // $most_ranges AS tolerance
  FROM proof_ranges
  GROUP BY log
),
-- Gaps whose starts are so close together belong to one range.
near AS (
  SELECT log, cause, tolerance, min(start_offset) AS start_offset,
         max(next_offset) AS next_offset, sum(next_offset - start_offset) AS offsets,
         sum(CASE WHEN cause = 'expired' AND detail IS NOT NULL
                  THEN next_offset - start_offset ELSE 0 END) AS expired_loss
  FROM proof_log_gaps JOIN extents USING (log)
  WHERE stands AND attempt_id IN (SELECT attempt_id FROM checkpoints)
  GROUP BY log, cause, tolerance, proof_log_gaps.start_offset // (tolerance + 1)
),
ordered AS (
  SELECT *, max(next_offset) OVER (
      PARTITION BY log, cause ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM near
),
numbered AS (
  SELECT *, sum(CASE WHEN start_offset - reached <= tolerance THEN 0 ELSE 1 END) OVER (
      PARTITION BY log, cause ORDER BY start_offset, next_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS number
  FROM ordered
)
SELECT log, cause, min(start_offset) AS start_offset, max(next_offset) AS next_offset,
       CAST(sum(offsets) AS BIGINT) AS offsets,
       CAST(sum(expired_loss) AS BIGINT) AS expired_loss
FROM numbered
GROUP BY log, cause, number
ORDER BY log, cause, start_offset;

-- fact damaged_places
-- The first damaged places of each log, unresolved ones first, and the number of all. The newest row
-- describes a place; bytes that conflict with the log that was read first may be damage to a retake.
-- Rows of a commit that is not complete count nothing, not even to describe or resolve a place.
WITH found AS (
  SELECT log, q.*, defect_code = 'replica_conflict' AS is_conflict
  FROM quarantine AS q JOIN proof_log_ids AS l
    ON q.source_id = l.source_id AND q.topic = l.topic AND q.partition = l.partition
   AND q.topic_id IS NOT DISTINCT FROM l.named_id
  JOIN published_generations AS p
    ON p.source_id = q.source_id AND p.topic = q.topic AND coalesce(q.generation, 0) <= p.newest
),
versions AS (
  SELECT *,
         coalesce(max(CASE WHEN resolution IS NULL THEN generation END) OVER place, -1)
           AS damaged_at,
         coalesce(max(CASE WHEN resolution IS NOT NULL THEN generation END) OVER place, -1)
           AS resolved_at,
         row_number() OVER (PARTITION BY log, broker_id, segment, position, raw_sha256, is_conflict
           ORDER BY resolution IS NOT NULL, generation DESC) AS version
  FROM found
  WINDOW place AS (PARTITION BY log, broker_id, segment, position, raw_sha256, is_conflict)
),
ranked AS (
  SELECT *, resolved_at >= damaged_at AS is_resolved, count(*) OVER (PARTITION BY log) AS total,
         row_number() OVER (PARTITION BY log
           ORDER BY resolved_at >= damaged_at, coalesce(segment, ''), coalesce(position, 0), broker_id,
                    generation) AS rank
  FROM versions
  WHERE version = 1
)
SELECT r.log, r.broker_id, coalesce(r.segment, '') AS segment,
       coalesce(r.position, 0) AS position, coalesce(length_bytes, 0) AS size_bytes,
       coalesce(defect_code, '') AS code, coalesce(defect_detail, '') AS detail,
       r.previous_offset, r.next_offset, coalesce(run_id, '') AS run_id, r.is_resolved,
       coalesce(s.records, 0) AS salvaged_records, r.total
FROM ranked AS r LEFT JOIN proof_salvaged_batches AS s
  ON s.source_id = r.source_id AND s.topic = r.topic AND s.partition = r.partition
 AND s.broker_id IS NOT DISTINCT FROM r.broker_id AND s.segment = r.segment
 AND s.position = r.position AND s.raw_sha256 = r.raw_sha256 AND s.generation = r.damaged_at
WHERE rank <= $most_places
ORDER BY r.log, rank;

-- fact recorded_gaps
-- Number of offsets in the gaps that each run recorded, filled since or not, by cause.
SELECT run_id, cause, CAST(sum(next_offset - start_offset) AS BIGINT) AS offsets
FROM gaps
WHERE attempt_id IN (SELECT attempt_id FROM checkpoints)
GROUP BY run_id, cause;
