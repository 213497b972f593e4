"""Names the commits that a report counts. Pure."""

from seglake.lake.duckdb_sql import literal
from seglake.lake.snapshots import Snapshot
from seglake.pipelines.lake_report.ledger import Ledger
from seglake.proof.queries import Purpose, Query


def published_generations(ledger: Ledger, checkpoints: Snapshot) -> Query:
    """Return the query for a table with the newest complete generation of each topic.

    The ledger's rows do not tell it: a commit of batches in quarantine alone adds none.

    Args:
        ledger: names the sources and topics.
        checkpoints: the snapshot whose transactions name the generations.
    """
    topics = dict.fromkeys((log.source_id, log.key.topic) for log in ledger.rows)
    rows = [
        f"({literal(source_id)}, {literal(topic)}, {checkpoints.generation(source_id, topic)})"
        for source_id, topic in topics
    ]
    listed = ", ".join(["(CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), -1)", *rows])
    sql = f"SELECT * FROM (VALUES {listed}) AS p(source_id, topic, newest)"
    return Query(Purpose.DERIVE, "published_generations", "", sql)
