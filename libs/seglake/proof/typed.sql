-- The proof of typed tables: what must hold between the ledger, `records`, and what `deserialize`
-- made of them. It is read as proof.sql is. The view `typed_places` has the place of each row of all
-- typed tables. A log is named by its topic, its partition and its cluster. Ranges are half-open.

-- derive typed_attempts
-- Decoded commits of records, with their counts in typed_checkpoints.
SELECT source_id, topic, coalesce(topic_id, '') AS id, partition, record_generation AS generation,
       CAST(sum(records) AS BIGINT) AS records, CAST(sum(typed_rows) AS BIGINT) AS typed_rows,
       CAST(sum(value_rejects) AS BIGINT) AS value_rejects,
       CAST(sum(key_rejects) AS BIGINT) AS key_rejects
FROM typed_checkpoints
GROUP BY source_id, topic, coalesce(topic_id, ''), partition, record_generation;

-- derive typed_standing
-- Rejects that no later run has resolved.
SELECT source_id, topic, coalesce(topic_id, '') AS id, partition, record_generation AS generation,
       value_rejects.offset AS place, part,
       CAST(sum(CASE WHEN resolution IS NULL THEN 1 ELSE -1 END) AS BIGINT) AS number
FROM value_rejects
GROUP BY source_id, topic, coalesce(topic_id, ''), partition, record_generation,
         value_rejects.offset, part
HAVING sum(CASE WHEN resolution IS NULL THEN 1 ELSE -1 END) <> 0;

-- derive typed_groups
-- Typed rows and rejected values, in groups of 32 offsets. Bit i of a group's mask stands for its
-- i-th offset, so if the mask has as many bits as the group has rows, no offset is there twice.
WITH made AS (
  SELECT source_id, topic, coalesce(topic_id, '') AS id, partition, generation,
         typed_places.offset AS place, CAST(1 AS BIGINT) AS number, CAST(0 AS BIGINT) AS rejected
  FROM typed_places
  UNION ALL
  SELECT source_id, topic, id, partition, generation, place, number, number
  FROM typed_standing
  WHERE part = 'value'
)
SELECT source_id, topic, id, partition, generation, place >> 5 AS part,
       CAST(sum(number) AS BIGINT) AS found, CAST(sum(rejected) AS BIGINT) AS rejected,
       bit_or(CAST(1 AS BIGINT) << CAST(place & 31 AS INT)) AS mask
FROM made
GROUP BY source_id, topic, id, partition, generation, place >> 5;

-- derive typed_records
-- Records of decoded commits, in the same groups.
SELECT r.source_id, r.topic, a.id, r.partition, r.generation, r.offset >> 5 AS part,
       count(*) AS records, bit_or(CAST(1 AS BIGINT) << CAST(r.offset & 31 AS INT)) AS mask
FROM records AS r JOIN typed_attempts AS a
  ON a.source_id = r.source_id AND a.topic = r.topic AND a.partition = r.partition
 AND a.generation = r.generation AND a.id = coalesce(r.topic_id, '')
GROUP BY r.source_id, r.topic, a.id, r.partition, r.generation, r.offset >> 5;

-- derive typed_sources
-- Records of each commit in the ledger.
SELECT source_id, topic, coalesce(topic_id, '') AS id, partition, generation,
       CAST(sum(records) AS BIGINT) AS records
FROM checkpoints
WHERE kind IN ('ingest', 'repair', 'refill', 'retake')
GROUP BY source_id, topic, coalesce(topic_id, ''), partition, generation;

-- check typed_rows
-- Every record of a decoded commit is one typed row or one rejected value, and nothing else is.
WITH pairs AS (
  SELECT source_id, topic, id, partition, generation, part,
         CAST(sum(records) AS BIGINT) AS records, CAST(sum(found) AS BIGINT) AS found,
         max(record_mask) AS record_mask, max(found_mask) AS found_mask
  FROM (
    SELECT source_id, topic, id, partition, generation, part, records, mask AS record_mask,
           CAST(0 AS BIGINT) AS found, CAST(0 AS BIGINT) AS found_mask
    FROM typed_records
    UNION ALL
    SELECT source_id, topic, id, partition, generation, part, 0, 0, found, mask FROM typed_groups
  ) AS every
  GROUP BY source_id, topic, id, partition, generation, part
)
SELECT concat(topic, '-', partition, ' of ', source_id) AS log, part * 32 AS place,
       greatest(abs(records - found), 1) AS number,
       concat('commit ', generation, ' has ', records, ' records and ', found,
              ' typed rows and rejected values at [', part * 32, ', ', part * 32 + 32, ')') AS said
FROM pairs
WHERE records <> found OR record_mask <> found_mask OR bit_count(found_mask) <> found;

-- check typed_sums
-- The counts of a decoded commit are those of its records in the ledger and of its rows. Rows of
-- records that were removed since may be missing.
WITH there AS (
  SELECT source_id, topic, id, partition, generation, CAST(sum(records) AS BIGINT) AS there
  FROM typed_records
  GROUP BY source_id, topic, id, partition, generation
),
made AS (
  SELECT source_id, topic, id, partition, generation,
         CAST(sum(found - rejected) AS BIGINT) AS typed_rows,
         CAST(sum(rejected) AS BIGINT) AS value_rejects
  FROM typed_groups
  GROUP BY source_id, topic, id, partition, generation
),
keys AS (
  SELECT source_id, topic, id, partition, generation, CAST(sum(number) AS BIGINT) AS key_rejects
  FROM typed_standing
  WHERE part = 'key'
  GROUP BY source_id, topic, id, partition, generation
),
sums AS (
  SELECT a.*, coalesce(s.records, 0) AS in_ledger,
         coalesce(s.records, 0) - coalesce(there, 0) AS removed,
         a.typed_rows - coalesce(m.typed_rows, 0) AS lacking_rows,
         a.value_rejects - coalesce(m.value_rejects, 0) AS lacking_values,
         a.key_rejects - coalesce(k.key_rejects, 0) AS lacking_keys
  FROM typed_attempts AS a
  LEFT JOIN typed_sources AS s USING (source_id, topic, id, partition, generation)
  LEFT JOIN there USING (source_id, topic, id, partition, generation)
  LEFT JOIN made AS m USING (source_id, topic, id, partition, generation)
  LEFT JOIN keys AS k USING (source_id, topic, id, partition, generation)
)
SELECT concat(topic, '-', partition, ' of ', source_id) AS log, generation AS place, 1 AS number,
       concat('commit ', generation, ': typed_checkpoints has ', records, ' records, ', typed_rows,
              ' typed rows, ', value_rejects, ' rejected values and ', key_rejects,
              ' rejected keys; checkpoints has ', in_ledger, ' records, and the tables lack ',
              lacking_rows, ' of the rows, ', lacking_values, ' of the values and ', lacking_keys,
              ' of the keys') AS said
FROM sums
WHERE records <> typed_rows + value_rejects
   OR records > in_ledger OR in_ledger - records > removed
   OR least(lacking_rows, lacking_values, lacking_keys) < 0
   OR lacking_rows + lacking_values > removed OR lacking_keys > removed;

-- fact typed_topics
-- Records of each topic with typed tables: those that are decoded, rejected, and not decoded yet.
WITH topics AS (SELECT DISTINCT source_id, topic FROM typed_attempts),
made AS (
  SELECT source_id, topic, CAST(sum(found - rejected) AS BIGINT) AS typed_rows,
         CAST(sum(rejected) AS BIGINT) AS value_rejects
  FROM typed_groups
  GROUP BY source_id, topic
),
keys AS (
  SELECT source_id, topic, CAST(sum(number) AS BIGINT) AS key_rejects
  FROM typed_standing
  WHERE part = 'key'
  GROUP BY source_id, topic
),
waiting AS (
  SELECT s.source_id, s.topic, CAST(sum(s.records) AS BIGINT) AS waiting
  FROM typed_sources AS s LEFT JOIN typed_attempts AS a
    USING (source_id, topic, id, partition, generation)
  WHERE a.records IS NULL
  GROUP BY s.source_id, s.topic
)
SELECT source_id, topic, coalesce(typed_rows, 0) AS typed_rows,
       coalesce(value_rejects, 0) AS value_rejects, coalesce(key_rejects, 0) AS key_rejects,
       coalesce(waiting, 0) AS waiting
FROM topics
LEFT JOIN made USING (source_id, topic)
LEFT JOIN keys USING (source_id, topic)
LEFT JOIN waiting USING (source_id, topic)
ORDER BY source_id, topic;
