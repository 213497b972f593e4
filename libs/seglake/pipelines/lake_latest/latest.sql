-- Which records of a topic of one cluster are new, which is the newest of each key, and which rows of
-- the table it replaces.
--
-- The texts are filled in by `latest_rows`: {source} and {topic} as literals, {first_id} as a literal
-- or NULL, {applied} and {published} as numbers of commits, {replaces} and {unsupported} as
-- conditions, {columns} of the table. The tables latest_whole and latest_elections come from the plan,
-- latest_old are files of the table, and latest_replaced those of them that the commit replaces.
-- DuckDB keeps the right side of each join in memory, as it is written: the smaller one.

-- derive latest_ends
-- Batches that were ingested as open, and markers of transactions, that lost no election.
SELECT ends.*
FROM (
  SELECT coalesce(topic_id, {first_id}) AS known_id, partition, base_offset, producer_id,
         control_type, transaction_state, generation
  FROM batches
  WHERE source_id = {source} AND topic = {topic} AND generation <= {published}
    AND producer_id IS NOT NULL
    AND (transaction_state = 'open' OR control_type IN ('commit', 'abort'))) AS ends
ANTI JOIN latest_elections AS lost
  ON lost.known_id IS NOT DISTINCT FROM ends.known_id
 AND lost.partition = ends.partition
 AND lost.start_offset <= ends.base_offset
 AND lost.next_offset > ends.base_offset
 AND lost.generation > ends.generation

-- fact latest_new_ends
-- A row if there is a new batch of these.
SELECT 1 AS found FROM latest_ends WHERE generation > {applied} LIMIT 1

-- derive latest_settled
-- The outcome of each batch that was ingested as open: its producer's first marker after it decides.
SELECT data.known_id, data.partition, data.base_offset, max(data.generation) AS generation,
       min_by(marker.control_type, marker.base_offset) AS outcome,
       min_by(marker.control_type,
              CASE WHEN marker.generation <= {applied} THEN marker.base_offset END)
         AS outcome_before
FROM latest_ends AS data JOIN latest_ends AS marker
  ON marker.known_id IS NOT DISTINCT FROM data.known_id
 AND marker.partition = data.partition
 AND marker.producer_id = data.producer_id
 AND marker.base_offset > data.base_offset
WHERE data.transaction_state = 'open' AND marker.control_type IN ('commit', 'abort')
GROUP BY data.known_id, data.partition, data.base_offset

-- fact latest_unsettled
-- Partitions with a transaction whose outcome an earlier run knew otherwise.
SELECT DISTINCT known_id, partition
FROM latest_settled
WHERE generation <= {applied} AND outcome_before <> outcome

-- fact latest_late
-- Batches of earlier commits that count as committed only now.
SELECT partition, min(base_offset) AS first_offset
FROM latest_settled
WHERE generation <= {applied} AND outcome = 'commit' AND outcome_before IS NULL
GROUP BY partition

-- fact latest_counts
-- Numbers of new records.
SELECT count(*) AS records, count(*) - count(records.key) AS without_key
FROM records
WHERE source_id = {source} AND topic = {topic}
  AND generation > {applied} AND generation <= {published}

-- derive latest_places
-- Where the newest record of each key is.
SELECT known_id, partition, counting.key, max(counting.offset) AS place,
       max_by(generation, counting.offset) AS generation,
       bool_or(is_whole) AS is_whole
FROM (
  SELECT records.key, records.partition, records.offset, records.generation,
         coalesce(records.topic_id, {first_id}) AS known_id,
         whole.partition IS NOT NULL AS is_whole
  FROM records
  LEFT JOIN latest_whole AS whole
    ON whole.known_id IS NOT DISTINCT FROM coalesce(records.topic_id, {first_id})
   AND whole.partition = records.partition
  LEFT JOIN latest_settled AS settled
    ON settled.known_id IS NOT DISTINCT FROM coalesce(records.topic_id, {first_id})
   AND settled.partition = records.partition
   AND settled.base_offset = records.batch_base_offset
  ANTI JOIN latest_elections AS lost
    ON lost.known_id IS NOT DISTINCT FROM coalesce(records.topic_id, {first_id})
   AND lost.partition = records.partition
   AND lost.start_offset <= records.offset
   AND lost.next_offset > records.offset
   AND lost.generation > records.generation
  WHERE records.source_id = {source} AND records.topic = {topic} AND records.key IS NOT NULL
    AND records.generation <= {published}
    AND (records.transaction_state IN ('none', 'committed')
         OR records.transaction_state = 'open' AND settled.outcome = 'commit')
    AND (records.generation > {applied} OR whole.partition IS NOT NULL
         OR records.transaction_state = 'open' AND settled.outcome_before IS NULL)) AS counting
GROUP BY known_id, partition, counting.key

-- derive latest_matches
-- Rows of the table that have the key of a new record, or that no record supports any more.
SELECT old.topic_id, old.partition, old.offset, old.file_path, places.place,
       places.place IS NULL OR {replaces} AS is_replaced
FROM latest_old_files AS old LEFT JOIN latest_places AS places
  ON places.known_id IS NOT DISTINCT FROM old.topic_id
 AND places.partition = old.partition
 AND places.key = old.key
WHERE old.source_id = {source} AND (places.place IS NOT NULL OR {unsupported})

-- fact latest_changes
-- Numbers of changed rows.
SELECT (SELECT count(*) FROM latest_places) - count(place) AS inserted,
       count(CASE WHEN is_replaced THEN place END) AS updated,
       count(*) - count(place) AS removed
FROM latest_matches

-- fact latest_replaced_files
-- Files with rows that go.
SELECT DISTINCT file_path FROM latest_matches WHERE is_replaced

-- fact latest_kept
-- The other rows of these files.
SELECT {columns}
FROM latest_replaced AS old ANTI JOIN (
  SELECT {source} AS source_id, topic_id, partition, latest_matches.offset
  FROM latest_matches WHERE is_replaced) AS gone
  ON gone.source_id = old.source_id
 AND gone.topic_id IS NOT DISTINCT FROM old.topic_id
 AND gone.partition = old.partition
 AND gone.offset = old.offset

-- derive latest_due
-- The newest places without those whose rows the table has.
SELECT places.known_id, places.partition, places.place, places.generation
FROM latest_places AS places
ANTI JOIN (SELECT topic_id, partition, place FROM latest_matches WHERE NOT is_replaced) AS known
  ON known.topic_id IS NOT DISTINCT FROM places.known_id
 AND known.partition = places.partition
 AND known.place = places.place

-- fact latest_rows
-- The newest record of each key that the table lacks.
SELECT records.key, records.value, records.topic, records.partition, records.offset,
       records.timestamp, records.timestampType, records.headers, records.timestamp_ms,
       records.source_id, due.known_id AS topic_id,
       CASE WHEN records.transaction_state = 'open' THEN 'committed'
            ELSE records.transaction_state END AS transaction_state,
       records.batch_base_offset, records.run_id, records.generation,
       records.value IS NULL AS is_deleted
FROM records JOIN latest_due AS due
  ON due.known_id IS NOT DISTINCT FROM coalesce(records.topic_id, {first_id})
 AND due.partition = records.partition
 AND due.place = records.offset
 AND due.generation = records.generation
WHERE records.source_id = {source} AND records.topic = {topic}
