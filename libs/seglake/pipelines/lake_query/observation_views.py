"""The view over `observations`: each partition as it was seen last. Runs in Spark and in DuckDB."""

import textwrap
from collections.abc import Iterable

from seglake.lake.tables import OBSERVATIONS
from seglake.pipelines.lake_query.current_views import FIRST_IDS

_FIRST = ("source_id", "topic_id", "topic", "partition")
_REST = tuple(name for name in OBSERVATIONS.schema.names if name not in (*_FIRST, "listing"))
# The ledger has these, and saw the log when it was ingested.
_OF_THE_LEDGER = {
    **{name: name for name in ("log_start_offset", "high_watermark", "last_stable_offset")},
    **{name: name for name in ("log_end_offset", "run_id")},
    # What a retake released lay in a log that lost: how far the one that won goes is not known.
    "next_offset": "CASE WHEN kind <> 'released' THEN next_offset END",
    "observed_at": "committed_at",
}


def _listed(names: Iterable[str]) -> str:
    return textwrap.fill(", ".join(names), 90).replace("\n", f"\n{' ' * 9}")


_SEEN = _listed(_REST)
_INGESTED = _listed(_OF_THE_LEDGER.get(name, "NULL") for name in _REST)

# A run that dies leaves ranges in the ledger and no observation, and so did those from before the
# table. Rows from before a topic's id was known belong to the first id that is known.
LAST_OBSERVATIONS = f"""\
{FIRST_IDS},
seen AS (
  SELECT source_id, topic_id, topic, partition,
         {_SEEN},
         NULL AS generation
  FROM observations
  WHERE partition IS NOT NULL
  UNION ALL
  SELECT source_id, topic_id, topic, partition,
         {_INGESTED},
         generation
  FROM checkpoints
  WHERE kind IN ('ingest', 'retake', 'released')
),
known AS (
  SELECT *, coalesce(topic_id, first_id) AS known_id
  FROM seen LEFT JOIN first_ids USING (source_id, topic)
),
ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY source_id, known_id, topic, partition
    ORDER BY observed_at DESC, generation DESC, next_offset DESC NULLS LAST) AS place
  FROM known
)
SELECT source_id, known_id AS topic_id, topic, partition,
       {_SEEN}
FROM ranked
WHERE place = 1"""


SEEN_BESIDE_TAKEN = """\
LEFT JOIN last_observations AS seen
  ON seen.source_id = taken.source_id
 AND seen.topic_id IS NOT DISTINCT FROM taken.topic_id
 AND seen.topic = taken.topic
 AND seen.partition = taken.partition"""
"""The join of the partitions `taken` with what was seen of them last, as `seen`."""
