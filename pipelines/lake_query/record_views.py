"""The views over `records`: transactions settled by later markers, and payloads as text.

Both have every column of the table.
"""

from lake.tables import RECORDS

_COLUMNS = tuple(RECORDS.schema.names)
_PLACE = ("topic", "partition", "offset", "timestamp")
_INDENT = ",\n       "

# A batch keeps the outcome that its run knew, and a marker that came later is a batch of its own:
# the first one of the producer behind the data decides, as it does for a broker.
_SETTLED_STATE = """\
CASE
         WHEN known.transaction_state = 'open' AND outcome = 'commit' THEN 'committed'
         WHEN known.transaction_state = 'open' AND outcome = 'abort' THEN 'aborted'
         ELSE known.transaction_state
       END AS transaction_state"""
_SETTLED_COLUMNS = (
    _SETTLED_STATE if name == "transaction_state" else f"known.{name}" for name in _COLUMNS
)

SETTLED_RECORDS = f"""\
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
SELECT {_INDENT.join(_SETTLED_COLUMNS)}
FROM known LEFT JOIN outcomes
  ON outcomes.source_id = known.source_id
 AND outcomes.known_id <=> known.known_id
 AND outcomes.topic = known.topic
 AND outcomes.partition = known.partition
 AND outcomes.base_offset = known.batch_base_offset"""

# Spark's parser stops behind the first value. Only what is one value and nothing more parses both
# as the element of an array and as the value of an object.
READABLE_RECORDS = f"""\
WITH texts AS (
  SELECT *,
         try_validate_utf8(CAST(key AS STRING)) AS key_text,
         try_validate_utf8(CAST(value AS STRING)) AS value_text
  FROM records
)
SELECT {", ".join(_PLACE)}, key_text, value_text,
       CASE
         WHEN try_parse_json(concat('[', value_text, ']')) IS NOT NULL
          AND try_parse_json(concat('{{"value":', value_text, '}}')) IS NOT NULL
         THEN value_text
       END AS value_json,
       {_INDENT.join(name for name in _COLUMNS if name not in _PLACE)}
FROM texts"""
