"""Query for each topic's newest complete commit; a report ignores rows of later commits."""

from seglake.lake.app_versions import app_id
from seglake.lake.duckdb_sql import literal
from seglake.lake.table_view import TableView
from seglake.pipelines.lake_report.ledger import Ledger
from seglake.proof.queries import Purpose, Query


def published_generations(ledger: Ledger, checkpoints: TableView) -> Query:
    """Return the query for the number (generation) of each topic's newest complete commit.

    The ledger's rows do not show this number, because a commit that only quarantines adds no row.

    Args:
        ledger: ledger with the names of the sources and topics.
        checkpoints: version of `checkpoints` whose Delta transactions hold these numbers.
    """
    topics = dict.fromkeys((log.source_id, log.key.topic) for log in ledger.rows)
    rows = [
        f"({literal(source_id)}, {literal(topic)}, {newest})"
        for source_id, topic in topics
        for newest in [checkpoints.generation(app_id(source_id, topic))]
    ]
    listed = ", ".join(["(CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), -1)", *rows])
    sql = f"SELECT * FROM (VALUES {listed}) AS p(source_id, topic, newest)"
    return Query(Purpose.DERIVE, "published_generations", "", sql)
