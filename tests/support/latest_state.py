"""Runs `latest` on lakes, and says from the views what its tables must hold."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable

from seglake.pipelines.lake_latest.latest import LatestContext, latest
from seglake.pipelines.lake_latest.latest_summary import LatestSummary
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.lakes import Row
from support.views import viewed

_OF_A_RUN = ("topic", "key_text", "value_text", "value_json")


def updated(
    lake: Path,
    *topics: str,
    rebuild: bool = False,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
    internal: bool = False,
) -> LatestSummary:
    """Bring the tables of these topics up to date; without topics, those that are there."""
    select = {"topics": [*topics], "internal_topics": internal}
    settings = Settings.from_mappings([("test", {"select": select})])
    with (
        RunReporter(io.StringIO(), verbosity=-1) as reporter,
        TemporaryDirectory() as spill_folder,
    ):
        context = LatestContext(
            storage=LocalStorage(),
            settings=settings,
            reporter=reporter,
            spill_folder=spill_folder,
            rebuild=rebuild,
            is_dry_run=dry_run,
            after=after,
        )
        return latest(str(lake), context)


def state(lake: Path, topic: str) -> list[Row]:
    """All rows of a topic's table, sorted."""
    rows: list[Row] = DeltaTable(str(lake / "latest" / topic)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=_place)


def table_version(lake: Path) -> int:
    """The version of the table of `orders`."""
    return DeltaTable(str(lake / "latest" / "orders")).version()


def values_of(lake: Path) -> dict[bytes, bytes | None]:
    """The value of each key in the table of `orders`."""
    return {row["key"]: row["value"] for row in state(lake, "orders")}


def expected(lake: Path, topic: str) -> list[Row]:
    """The rows that the table of a topic must have: of all records that count, the last ones."""
    return _expected(viewed(lake, f"SELECT * FROM settled_records WHERE topic = '{topic}'"))


def _expected(records: list[Row]) -> list[Row]:
    found: dict[tuple[object, ...], Row] = {}
    for row in sorted(records, key=lambda row: row["offset"]):
        if row["transaction_state"] in ("none", "committed") and row["key"] is not None:
            log = row["source_id"], row["topic_id"], row["partition"]
            found[*log, row["key"]] = row | {"is_deleted": row["value"] is None}
    return sorted(found.values(), key=_place)


def _in_view(topic: str, rows: list[Row]) -> list[Row]:
    """Rows of the view `latest_records`, with the columns of the table."""
    plain = [{n: v for n, v in row.items() if n not in _OF_A_RUN} for row in rows]
    return sorted((row | {"topic": topic, "is_deleted": False} for row in plain), key=_place)


def assert_current(lake: Path, topic: str) -> list[Row]:
    """The table of a topic has the rows that the views say; they are returned."""
    return assert_all_current(lake, [topic])[topic]


def assert_all_current(lake: Path, topics: Iterable[str]) -> dict[str, list[Row]]:
    """The table of each topic has the rows that the views say; they are returned."""
    found = {topic: state(lake, topic) for topic in topics}
    views = ("settled_records", "latest_records")
    records, latest = (viewed(lake, f"SELECT * FROM {view}") for view in views)
    for topic, rows in found.items():
        assert rows == _expected([row for row in records if row["topic"] == topic]), topic
        own = [row for row in latest if row["topic"] == topic]
        assert [row for row in rows if not row["is_deleted"]] == _in_view(topic, own), topic
    return found


def _place(row: Row) -> tuple[object, ...]:
    return str(row["source_id"]), str(row["topic_id"]), row["partition"], row["offset"]
