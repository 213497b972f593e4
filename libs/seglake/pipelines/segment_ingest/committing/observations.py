"""Records what a run saw of the partitions. Effect."""

from collections.abc import Sequence

from seglake.kafka_log.observation import Observation
from seglake.lake.blind_append import append_file
from seglake.lake.tables import OBSERVATIONS
from seglake.log_tables.observation_rows import observation_rows
from seglake.pipelines.segment_ingest.committing.wave import write_rows
from seglake.pipelines.segment_ingest.run_context import RunContext

_OF_NO_TOPIC = ""


def record(observations: Sequence[Observation], context: RunContext) -> None:
    """Append the observations as one file; without any, and in a dry run, nothing is written.

    Raises:
        SeglakeError: they are not recorded, or may be; a later run sees what this one saw.
    """
    if not observations or context.is_dry_run:
        return
    rows = observation_rows(observations, context.source_id)
    now_ms = int(max(seen.observed_at for seen in observations).timestamp() * 1000)
    for file in write_rows(context, OBSERVATIONS, _OF_NO_TOPIC, rows):
        append_file(context.tables, OBSERVATIONS, file, run_id=context.run_id, now_ms=now_ms)
