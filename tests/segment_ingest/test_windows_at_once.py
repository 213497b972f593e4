"""Windows of one log, taken at the same moment by several runs, as a backfill does."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support.audits import audited
from support.cases import cases
from support.lakes import Sections, content, ingested

_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"
_TOPICS = ["v2-*"]  # written on 27 July 2023 from 9:11 to 10:00, with damage in two partitions
_FIRST, _SECOND = "2023-07-27T09:12:00Z", "2023-07-27T09:44:00Z"
_WINDOWS = (
    {"to_timestamp": _FIRST},
    {"from_timestamp": _FIRST, "to_timestamp": _SECOND},
    {"from_timestamp": _SECOND},
)


@pytest.mark.parametrize(
    "isolation", cases(["read_committed", "read_uncommitted"], telling=["read_committed"])
)
def test_windows_taken_at_once_make_the_tables_of_a_plain_run(
    isolation: str, tmp_path: Path
) -> None:
    lake, plain = tmp_path / "lake", tmp_path / "plain"
    together = threading.Barrier(len(_WINDOWS))

    def take(window: dict[str, str]) -> IngestSummary:
        select: Sections = {"select": {"topics": _TOPICS, **window}}
        together.wait(60)
        return ingested(_SAMPLE, lake, isolation=isolation, makes_lake=True, **select)

    with ThreadPoolExecutor(len(_WINDOWS)) as pool:
        summaries = list(pool.map(take, _WINDOWS))
    assert all(summary.exit_code == (3 if summary.damaged else 0) for summary in summaries)
    assert all(summary.records for summary in summaries)
    ingested(_SAMPLE, plain, isolation=isolation, select={"topics": _TOPICS})
    for table in ("records", "batches", "quarantine", "gaps"):
        assert content(lake, table) == content(plain, table)
    assert audited(lake).exit_code == 0
