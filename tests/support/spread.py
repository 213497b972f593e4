"""How tests are spread over several workers: what shares something dear runs in one of them.

A worker takes a group as a whole, in the order of `arranged`: what starts servers comes first and
the longest before others, so that no worker ends long after the others.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

# Markers of what is started; a test with several belongs to the first.
_STARTED = (
    *("airflow", "versions", "hdfs", "cluster", "s3", "image", "own_spark", "spark", "browser"),
)
_LONGEST_FIRST = (
    *("hdfs", "airflow", "cluster", "s3", "own_spark", "versions", "image", "spark", "browser"),
)
_ASK_IN_SQL = {"docs", "lake_audit", "lake_query", "segment_ingest", "spark_source"}
_TESTS = Path(__file__).parents[1]


def started_for(item: pytest.Item) -> str | None:
    """Return the marker of what is started for a test; None if nothing is."""
    markers = {marker.name for marker in item.iter_markers()}
    return next((name for name in _STARTED if name in markers), None)


def arranged(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Give tests that share something one group, and return them in the order to begin with."""
    places: dict[pytest.Item, int] = {}
    for item in items:
        started, shared = started_for(item), _shared_fixture(item)
        place = len(_LONGEST_FIRST) + 1
        if started is not None:
            place = _LONGEST_FIRST.index(started)
            item.add_marker(pytest.mark.xdist_group(_group(started, item)))
        elif item.get_closest_marker("xdist_group") is not None:
            place -= 1
        elif shared is not None:
            place -= 1
            item.add_marker(pytest.mark.xdist_group(shared))
        places[item] = place
    return sorted(items, key=places.__getitem__)


def _group(started: str, item: pytest.Item) -> str:
    """Return the name of a test's group.

    All tests of a server share it. Two workers have a session of Spark: one for rooms that ask it
    in SQL, whose first queries take a JVM long, and one for rooms that give it tasks. Tests with a
    Spark of their own share nothing but what their module has made.
    """
    room, *rest = item.path.relative_to(_TESTS).with_suffix("").parts
    if started == "spark":
        return "spark-sql" if room in _ASK_IN_SQL else "spark-tasks"
    if started == "own_spark":
        return f"own_spark-{'.'.join((room, *rest))}"
    return started


def _shared_fixture(item: pytest.Item) -> str | None:
    """Return the widest place of a fixture that a test shares with others of its module or room."""
    if not isinstance(item, pytest.Function):
        return None
    known = item._fixtureinfo.name2fixturedefs.values()
    places = [
        definition.baseid
        for definition in itertools.chain.from_iterable(known)
        if definition.scope in ("module", "session") and definition.baseid.count("/") > 0
    ]
    return min(places, default=None)


def mark_further_cases(items: Sequence[pytest.Item]) -> None:
    """Mark all cases of a module but the first as `matrix` where Spark is the engine.

    Both engines run the same functions on the same tasks, and the local one runs all cases: what
    differs between them, how tasks and results travel, shows in one case of each module.
    """
    seen: set[Path] = set()
    for item in items:
        called = getattr(item, "callspec", None)
        if called is not None and called.params.get("engine") == "spark":
            if item.path in seen:
                item.add_marker(pytest.mark.matrix)
            seen.add(item.path)
