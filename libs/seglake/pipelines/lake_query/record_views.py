"""The views over `records`: transactions settled by later markers, payloads as text, newest values.

All have every column of the table.
"""

import textwrap
from enum import Enum

from seglake.lake.tables import RECORDS
from seglake.pipelines.lake_query.current_views import BATCH, FIRST_IDS, current

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
# Rows written before a topic's id was known belong to the first id that is known.
_SETTLED = {"transaction_state": _SETTLED_STATE, "topic_id": "known.known_id AS topic_id"}
_SETTLED_COLUMNS = (_SETTLED.get(name, f"known.{name}") for name in _COLUMNS)


SETTLED_RECORDS = f"""\
{FIRST_IDS},
current_batches AS (
{textwrap.indent(current("batches", BATCH), "  ")}
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
SELECT {_INDENT.join(_SETTLED_COLUMNS)}
FROM known LEFT JOIN outcomes
  ON outcomes.source_id = known.source_id
 AND outcomes.known_id IS NOT DISTINCT FROM known.known_id
 AND outcomes.topic = known.topic
 AND outcomes.partition = known.partition
 AND outcomes.base_offset = known.batch_base_offset"""


# As the element of a list, because TRY takes no aggregate and no subquery.
UTF8_TEXT = "list_transform([{bytes}], lambda each: try(decode(each)))[1]"
"""DuckDB's expression for the text of `{bytes}`, null where they are not UTF-8."""


class Dialect(Enum):
    """An engine's expressions for text, of bytes in `{column}`, and JSON, in `value_text`.

    Then: for a member of JSON as text, null if it is null, and for an array of integers in text.
    """

    # Spark's JSON parser stops behind the first value. Only what is one value and nothing more
    # parses both as the element of an array and as the value of an object.
    SPARK = (
        "try_validate_utf8(CAST({column} AS STRING))",
        "try_parse_json(concat('[', value_text, ']')) IS NOT NULL\n"
        "          AND try_parse_json(concat('{\"value\":', value_text, '}')) IS NOT NULL",
        "get_json_object({column}, '$.{name}')",
        "from_json({text}, 'array<int>')",
    )
    DUCKDB = (
        "try(decode({column}))",
        "json_valid(value_text)",
        "json_extract_string({column}, '$.{name}')",
        "CAST({text} AS INTEGER[])",
    )

    @property
    def texts(self) -> str:
        """Return the columns `key_text` and `value_text`."""
        text = self.value[0]
        return (
            f"{text.format(column='key')} AS key_text, {text.format(column='value')} AS value_text"
        )

    @property
    def columns(self) -> str:
        """Return the selected columns: all of the rows', and `value_json`."""
        json = f"CASE WHEN {self.value[1]}\n         THEN value_text END AS value_json"
        names = [f"texts.{name}" for name in (*_PLACE, "key_text", "value_text")]
        rest = (f"texts.{name}" for name in _COLUMNS if name not in _PLACE)
        return _INDENT.join((", ".join(names), json, *rest))

    def json_text(self, column: str, name: str) -> str:
        """Return the SQL for a JSON member's text; null if it is missing or null."""
        return self.value[2].format(column=column, name=name)

    def ints(self, text: str) -> str:
        """Return the SQL for the array of integers in a JSON text."""
        return self.value[3].format(text=text)


def readable_records(dialect: Dialect) -> str:
    """Return the records, with text and JSON where the bytes are such."""
    return f"""\
WITH texts AS (
  SELECT *, {dialect.texts}
  FROM current_records
)
SELECT {dialect.columns}
FROM texts"""


def latest_records(dialect: Dialect) -> str:
    """Return the newest record of each key of each partition, if it is no tombstone."""
    return f"""\
WITH ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, topic_id, topic, partition, key ORDER BY settled_records.offset DESC)
      AS place
  FROM settled_records
  WHERE transaction_state IN ('none', 'committed') AND key IS NOT NULL
),
texts AS (
  SELECT *, {dialect.texts}
  FROM ranked
  WHERE place = 1 AND value IS NOT NULL
)
SELECT {dialect.columns}
FROM texts"""
