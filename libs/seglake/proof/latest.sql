-- The proof of tables of latest state: they have the newest record of each key, and nothing else. It
-- is read as proof.sql is. The view `latest_states` has the rows of all these tables, and
-- `latest_compared` the topics that they have up to the newest commit. No query shows a key.

-- derive latest_ids
-- Topic ids: rows without one belong to the first known id.
SELECT source_id, topic, min_by(topic_id, generation) AS first_id
FROM checkpoints
WHERE topic_id IS NOT NULL
GROUP BY source_id, topic;

-- derive latest_lost
-- Ranges whose rows of earlier commits lost an election.
SELECT c.source_id, c.topic, coalesce(c.topic_id, first_id, '') AS id, c.partition,
       c.start_offset, c.next_offset, c.generation
FROM checkpoints AS c LEFT JOIN latest_ids USING (source_id, topic)
WHERE c.kind = 'superseded';

-- derive latest_open
-- The marker that ends the transaction of each batch that was ingested as open.
WITH ends AS (
  SELECT b.source_id, b.topic, coalesce(b.topic_id, first_id, '') AS id, b.partition,
         b.base_offset, b.producer_id, b.control_type, b.transaction_state, b.generation
  FROM batches AS b JOIN latest_compared AS c
    ON c.source_id = b.source_id AND c.topic = b.topic AND c.generation >= b.generation
  LEFT JOIN latest_ids AS i ON i.source_id = b.source_id AND i.topic = b.topic
  WHERE b.producer_id IS NOT NULL
),
current_ends AS (
  SELECT ends.*
  FROM ends ANTI JOIN latest_lost AS lost
    ON lost.source_id = ends.source_id AND lost.topic = ends.topic AND lost.id = ends.id
   AND lost.partition = ends.partition AND lost.generation > ends.generation
   AND lost.start_offset <= ends.base_offset AND lost.next_offset > ends.base_offset
)
SELECT o.source_id, o.topic, o.id, o.partition, o.base_offset,
       min_by(m.control_type, m.base_offset) AS outcome
FROM current_ends AS o JOIN current_ends AS m
  ON m.source_id = o.source_id AND m.topic = o.topic AND m.id = o.id
 AND m.partition = o.partition AND m.producer_id = o.producer_id
 AND m.base_offset > o.base_offset
WHERE o.transaction_state = 'open' AND m.control_type IN ('commit', 'abort')
GROUP BY o.source_id, o.topic, o.id, o.partition, o.base_offset;

-- derive latest_expected
-- The newest record of each key.
WITH counting AS (
  SELECT r.source_id, r.topic, coalesce(r.topic_id, first_id, '') AS id, r.partition, r.key,
         r.offset AS place, r.generation, r.transaction_state, r.batch_base_offset,
         octet_length(r.value) AS size
  FROM records AS r JOIN latest_compared AS c
    ON c.source_id = r.source_id AND c.topic = r.topic AND c.generation >= r.generation
  LEFT JOIN latest_ids AS i ON i.source_id = r.source_id AND i.topic = r.topic
  WHERE r.key IS NOT NULL AND r.transaction_state <> 'aborted'
),
current_rows AS (
  SELECT counting.*
  FROM counting ANTI JOIN latest_lost AS lost
    ON lost.source_id = counting.source_id AND lost.topic = counting.topic
   AND lost.id = counting.id AND lost.partition = counting.partition
   AND lost.generation > counting.generation
   AND lost.start_offset <= counting.place AND lost.next_offset > counting.place
)
SELECT r.source_id, r.topic, r.id, r.partition, r.key, max(r.place) AS place,
       max_by(r.generation, r.place) AS generation,
       max_by(coalesce(r.size, -1), r.place) AS size
FROM current_rows AS r LEFT JOIN latest_open AS o
  ON o.source_id = r.source_id AND o.topic = r.topic AND o.id = r.id
 AND o.partition = r.partition AND o.base_offset = r.batch_base_offset
WHERE r.transaction_state <> 'open' OR o.outcome = 'commit'
GROUP BY r.source_id, r.topic, r.id, r.partition, r.key;

-- check latest_rows
-- A table of latest state has the newest record of each key, and nothing else.
WITH sides AS (
  SELECT source_id, topic, id, partition, key, place, generation, size, 1 AS side
  FROM latest_expected
  UNION ALL
  SELECT s.source_id, s.topic, coalesce(s.topic_id, ''), s.partition, s.key, s.offset,
         s.generation, CASE WHEN s.is_deleted THEN -1 ELSE octet_length(s.value) END, -1
  FROM latest_states AS s JOIN latest_compared AS c
    ON c.source_id = s.source_id AND c.topic = s.topic
),
differing AS (
  SELECT source_id, topic, id, partition, key, place, generation, size, sum(side) AS side
  FROM sides
  GROUP BY source_id, topic, id, partition, key, place, generation, size
  HAVING sum(side) <> 0
)
SELECT concat(topic, '-', partition, ' of ', source_id) AS log, place, 1 AS number,
       concat('offset ', place, CASE WHEN side > 0 THEN ' is the newest of its key and lacks'
                                     ELSE ' has a row and is not the newest of its key' END) AS said
FROM differing;

-- fact latest_topics
-- Rows of each table, and how many of them are deleted keys.
SELECT source_id, topic, count(*) AS keys,
       CAST(sum(CASE WHEN is_deleted THEN 1 ELSE 0 END) AS BIGINT) AS deleted
FROM latest_states
GROUP BY source_id, topic
ORDER BY source_id, topic;
