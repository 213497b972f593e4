"""A lake that several files query and none changes, and who asks the views of lakes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support import written_lake
from support.views import viewed_as_in_spark
from support.written_lake import write_lake


@pytest.fixture(scope="session")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    write_lake(lake)
    return lake


@pytest.fixture(
    params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.matrix])]
)
def ask(request: pytest.FixtureRequest) -> Callable[[Path, str], list[dict[str, object]]]:
    """Asks views that are the same text in both; Spark takes a hundred times as long.

    That Spark runs each view is for the queries of the pages to see, by default too.
    """
    if request.param == "duckdb":
        return viewed_as_in_spark
    return partial(written_lake.ask, request.getfixturevalue("spark_session"))
