"""Whether a run brings a lake its second cluster. Effect: reads the ledger."""

from collections.abc import Sequence

from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.run_context import RunContext


def other_clusters_notes(
    ranges: Sequence[RangePlan], ledger: SourceLedger, context: RunContext
) -> list[str]:
    """What to say where a cluster comes into a lake that has others: it may be the wrong lake.

    Args:
        ledger: what the lake has of the run's own cluster; once that is something, it was said.
    """
    if not ranges or ledger.topics or not context.tables.exists():
        return []
    others = [other for other in context.tables.source_ids() if other != context.source_id]
    if not others:
        return []
    return [
        f"{context.source_id} is new in this lake, which also has {', '.join(others)}:"
        " source_id tells their rows apart"
    ]
