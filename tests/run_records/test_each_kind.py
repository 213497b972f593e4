"""Each kind of finding reaches events, metrics and lineage, as severe as its exit code says."""

import io
import json
from pathlib import Path

import pytest
from openlineage.client.facet_v2 import test_run as tests_of_run
from openlineage.client.serde import Serde

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.progress.progress_views import EventLog
from seglake.run_records.event_record import EventRecord
from seglake.run_records.lineage import Lineage
from seglake.run_records.metrics_file import MetricsFile
from seglake.run_records.run_record import RunEnd, RunStart

_START = RunStart(
    command="ingest", run_id="r", engine="local", sources=["/d"], lake="/lake", writes=True
)


@pytest.mark.parametrize("kind", FindingKind)
def test_kind_is_in_the_records_of_its_run(kind: FindingKind, tmp_path: Path) -> None:
    found = Findings([Finding(kind, "a", "orders-0"), Finding(kind, "b", "orders-1")])
    end = RunEnd(exit_code=found.exit_code, seconds=1, summary=found.to_mapping())
    events, metrics, lineage = io.StringIO(), tmp_path / "seglake.prom", tmp_path / "lineage"
    recorders = (
        EventRecord(EventLog(events, {})),
        MetricsFile(str(metrics), pytest.fail),
        Lineage(str(lineage), pytest.fail),
    )
    for recorder in recorders:
        recorder.begin(_START)
        recorder.end(_START, end)
    is_look = found.exit_code == 3

    _, first, second, _ = map(json.loads, events.getvalue().splitlines())
    assert (first["event"], second["event"]) == (kind, kind)
    assert (first["level"], first["message"]) == ("error" if is_look else "info", "a")

    look = "yes" if is_look else "no"
    sample = f'kind="{kind}",lake="/lake",look="{look}"}} 2.0'
    assert sample in metrics.read_text("utf-8")

    begun, ended = map(json.loads, lineage.read_text("utf-8").splitlines())
    assert "test" not in begun["run"]["facets"]
    (result,) = ended["run"]["facets"]["test"]["tests"]
    assert (result["name"], result["status"], result["actual"]) == (kind, "fail", "2")
    assert result["severity"] == ("error" if is_look else "warn")
    # As OpenLineage's own classes have it.
    parsed = tests_of_run.TestRunFacet([tests_of_run.TestExecution(**result)])
    assert json.loads(Serde.to_json(parsed))["tests"] == [result]
