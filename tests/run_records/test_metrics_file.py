"""The file of gauges, as Prometheus' own parser reads it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.run_records import metrics_file
from seglake.run_records.metrics_file import MetricsFile
from seglake.run_records.run_record import RunEnd, RunStart

_PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
_START = RunStart(
    command="ingest", run_id="r", engine="local", sources=["/disk"], lake="/lake", writes=True
)
_DONE = RunEnd(
    exit_code=0, seconds=1.5, summary={"records": 7, "findings_by_kind": {"left_out": 1}}
)
_FAILED = RunEnd(exit_code=1, seconds=0.5, summary={}, error=OSError("x"))
_SUCCESS = "seglake_last_success_timestamp_seconds"


def _values(path: Path) -> dict[str, float]:
    families = [*text_string_to_metric_families(path.read_text("utf-8"))]
    assert {family.type for family in families} == {"gauge"}
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["lake"] for sample in samples} == {"/lake"}
    return {f"{sample.name}{sample.labels.get('kind', '')}": sample.value for sample in samples}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "seglake.prom"


def test_counts_are_gauges_and_things_are_counted(path: Path) -> None:
    MetricsFile(str(path), pytest.fail).end(_START, _DONE)
    values = _values(path)
    assert values["seglake_last_run_records"] == 7
    found = {kind: values[f"seglake_last_run_findings{kind}"] for kind in FindingKind}
    assert {kind for kind, count in found.items() if count} == {FindingKind.LEFT_OUT}
    assert values["seglake_last_run_duration_seconds"] == 1.5
    assert [*path.parent.iterdir()] == [path]  # it came by a rename


def test_the_time_of_the_last_success_outlives_failures_of_the_same_lake(path: Path) -> None:
    MetricsFile(str(path), pytest.fail).end(_START, _DONE)
    before = _values(path)[_SUCCESS]
    for _ in range(2):
        MetricsFile(str(path), pytest.fail).end(_START, _FAILED)
    after = _values(path)
    assert (after[_SUCCESS], after["seglake_last_run_success"]) == (before, 0)
    assert "seglake_last_run_records" not in after
    MetricsFile(str(path), pytest.fail).end(replace(_START, command="replay"), _FAILED)
    assert _SUCCESS not in _values(path)


def test_a_file_that_is_no_metrics_is_written_anew(path: Path) -> None:
    path.write_text("{ what is this", "utf-8")
    MetricsFile(str(path), pytest.fail).end(_START, _FAILED)
    assert _values(path)["seglake_last_run_exit_code"] == 1


def test_a_folder_that_is_gone_at_the_end_is_told_of(path: Path) -> None:
    told: list[str] = []
    metrics = MetricsFile(str(path), told.append)
    path.parent.rmdir()
    metrics.end(_START, _DONE)
    assert told == [f"the metrics could not be written to {path}: No such file or directory"]


def test_the_page_explains_every_metric_and_no_other() -> None:
    gap = {"offsets": 1}
    summary: dict[str, Any] = {
        **dict.fromkeys(metrics_file._COUNTS, 1),
        "defects": {"crc_mismatch": 1},
        "gaps": {"missing": {"a-0": gap}},
        "disks": {"copies": []},
        "findings_by_kind": {},
    }
    samples = metrics_file._samples(replace(_DONE, summary=summary), None)
    text = _PAGE.read_text("utf-8")
    rows = "".join(line for line in text.splitlines() if line.startswith("| `seglake_"))
    assert {*re.findall(r"seglake_[a-z_]+", rows)} == {sample.name for sample in samples}


@pytest.mark.parametrize("name", ["none/metrics.prom", "."])
def test_a_file_that_cannot_be_is_a_wrong_call(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongCallError, match="must name a file in an existing folder"):
        MetricsFile(str(tmp_path / name), pytest.fail)
