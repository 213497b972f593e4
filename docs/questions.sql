SELECT topic, partition, next_offset
FROM last_offsets
ORDER BY topic, partition;

SELECT r.partition, r.offset, r.timestamp, r.key_text, r.value_text,
       CASE WHEN r.key_text IS NULL THEN hex(r.key) END AS key_hex,
       CASE WHEN r.value_text IS NULL THEN hex(r.value) END AS value_hex
FROM readable_records AS r
WHERE r.topic = 'v2-zstd'
ORDER BY r.partition, r.offset;

SELECT topic, partition, broker_id, segment, position, length_bytes, defect_code, defect_detail,
       max(resolution) AS resolution
FROM quarantine
GROUP BY topic, partition, broker_id, segment, position, length_bytes, defect_code, defect_detail
ORDER BY topic, partition, position;

SELECT topic, partition, covered, records, in_batches,
       compacted, deleted, marker, deleted_or_lost, remote, undecided, quarantined, missing, left_above
FROM completeness
ORDER BY topic, partition;

SELECT r.partition, r.key_text, r.value_text, r.offset, r.timestamp
FROM latest_records AS r
WHERE r.topic = 'v2-zstd'
ORDER BY r.partition, r.offset;
