"""What is said and called when a task has failed for good."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from seglake_lakes import Lake
from seglake_runbook import failure_callback, page

_CONTEXT = {
    "task_instance": SimpleNamespace(task_id="ingest", run_id="manual__1", dag_id="seglake_ingest"),
    "exception": RuntimeError("Error code is: 1.\nLast spark-submit output: ..."),
}


def test_the_log_says_what_failed_that_it_may_run_again_and_where_to_read_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        failure_callback(Lake(lake="/lake", sources=("/disk",), jobs="/jobs"))(_CONTEXT)
    (line,) = caplog.messages
    assert line.startswith("ingest of manual__1, lake /lake: Error code is: 1. ")
    assert "every task may be run again" in line
    assert "documentation of the DAG seglake_ingest" in line
    assert "Last spark-submit output" not in line


def test_a_function_of_ones_own_is_called_with_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_alerts.py").write_text("met = []\npage = met.append\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    lake = Lake(lake="/lake", sources=("/disk",), jobs="/jobs", on_failure="my_alerts.page")
    failure_callback(lake)(_CONTEXT)
    import my_alerts  # type: ignore[import-not-found]  # written above

    assert my_alerts.met == [_CONTEXT]


def test_the_page_begins_with_the_facts_of_the_lake() -> None:
    lake = Lake(name="eu", lake="/lake", sources=("/a", "/b"), jobs="/jobs", pool="shared")
    facts = page(lake).splitlines()[0]
    assert facts == (
        "lake `/lake` from `/a`, `/b`; pool `shared`, asset `seglake_eu` (file:///lake),"
        " connection `spark_default`"
    )
