-- Facts of typed tables that a report shows, from the tables that the proof's typed.sql derives.

-- fact typed_counts
-- Records of each topic: those in decoded commits, their typed rows, and those not decoded yet.
-- Topics whose commits are all undecoded are left out.
SELECT s.source_id, s.topic, CAST(coalesce(sum(a.records), 0) AS BIGINT) AS records,
       CAST(coalesce(sum(a.typed_rows), 0) AS BIGINT) AS typed_rows,
       CAST(sum(CASE WHEN a.records IS NULL THEN s.records ELSE 0 END) AS BIGINT) AS waiting
FROM typed_sources AS s
LEFT JOIN typed_attempts AS a USING (source_id, topic, id, partition, generation)
GROUP BY s.source_id, s.topic
HAVING count(a.records) > 0
ORDER BY s.source_id, s.topic;

-- fact typed_rejects
-- Keys and values of each topic that no run has decoded, by reason, of records that lost no election.
WITH standing AS (
  SELECT source_id, topic, coalesce(topic_id, '') AS id, partition, value_rejects.offset AS place,
         part, record_generation AS generation, max(reason) AS reason
  FROM value_rejects
  GROUP BY source_id, topic, coalesce(topic_id, ''), partition, value_rejects.offset, part,
           record_generation
  HAVING sum(CASE WHEN resolution IS NULL THEN 1 ELSE -1 END) > 0
)
SELECT s.source_id, s.topic, part, reason, count(*) AS number
FROM standing AS s
SEMI JOIN typed_attempts AS a USING (source_id, topic, id, partition, generation)
ANTI JOIN (SELECT * FROM checkpoints WHERE kind = 'superseded') AS lost
  ON lost.source_id = s.source_id AND lost.topic = s.topic AND lost.partition = s.partition
 AND (lost.topic_id = s.id OR s.id = '' OR lost.topic_id IS NULL)
 AND lost.start_offset <= s.place AND s.place < lost.next_offset AND lost.generation > s.generation
GROUP BY s.source_id, s.topic, part, reason
ORDER BY s.source_id, s.topic, number DESC, part, reason;
