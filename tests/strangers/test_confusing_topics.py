"""Topics whose names SQL does not tell apart (KAFKA-5596), asked by name in both engines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.answers import Answer
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.pipelines.lake_query.topic_views import OF_TOPICS
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine
from support.lakes import ingested
from support.made_logs import make_log_dir

Asked = Callable[[str], Answer]

_ALONE = ["select", "2024-01-05", "..a", "x" * 249]
_CONFUSED = ["Orders", "orders", "pay.ments", "pay_ments", "pay-ments"]


@pytest.fixture
def asked(request: pytest.FixtureRequest, tmp_path: Path, engine: Engine) -> Asked:
    """Asks the lake in DuckDB, or in Spark where Spark ingested it."""
    edges = {(topic, 0): [0, 5] for topic in (*_ALONE, *_CONFUSED)}
    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "disk", edges), lake, engine=engine)
    if request.node.get_closest_marker("spark"):
        return SparkQueries(request.getfixturevalue("spark_session"), str(lake)).answer
    tables = LakeTables(str(lake), LocalStorage())
    return DuckDBQueries(tables, spill_folder="").answer


def _topics(answer: Answer) -> list[object]:
    return [topic for batch in answer.batches for topic in batch.column("topic").to_pylist()]


def test_a_name_gives_the_records_of_its_topic_or_none(asked: Asked) -> None:
    views = OF_TOPICS.views([*_ALONE, *_CONFUSED])
    assert sorted(views.values()) == sorted([*_ALONE, *_CONFUSED])
    for name, topic in views.items():
        assert _topics(asked(f"SELECT topic FROM {name}")) == [topic] * 5
    for topic in ("orders", "Orders", "ORDERS", "pay_ments", "Pay_ments"):
        with pytest.raises(
            WrongQueryError, match=f"topic_{topic} could be the topic .*: query topic_"
        ):
            asked(f"SELECT topic FROM topic_{topic}")
