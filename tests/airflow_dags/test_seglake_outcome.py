"""What Airflow is told of a job's end."""

import pytest

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary, TableMaintenance
from seglake_outcome import ExitCode, Outcome, summary_of
from support.summaries import made_summary


def summary(**values: object) -> IngestSummary:
    usual = {"run_id": "manual__1", "source_id": "cluster", "records": 7, "topics": ["orders"]}
    return made_summary(**{**usual, **values})


def told(made: IngestSummary) -> dict[str, object]:
    read = summary_of(made.to_json())
    assert read is not None
    return Outcome(ExitCode(made.exit_code), read).to_mapping()


def test_a_run_that_is_done_tells_what_it_took() -> None:
    found = told(summary())
    assert found["exit_code"] == 0
    assert (found["run_id"], found["records"], found["topics"]) == ("manual__1", 7, ["orders"])
    assert found["look_at"] == []


@pytest.mark.parametrize("kind", [kind for kind in FindingKind if kind.needs_a_look])
def test_each_cause_of_exit_code_three_is_named(kind: FindingKind) -> None:
    found = told(summary(findings=[Finding(kind, "a-0: what it is")]))
    assert found["exit_code"] == 3
    assert found["look_at"] == [f"{kind.replace('_', ' ')}: a-0: what it is"]


def test_what_needs_no_look_is_not_named() -> None:
    known = [kind for kind in FindingKind if not kind.needs_a_look]
    found = told(summary(findings=[Finding(kind, "x") for kind in known]))
    assert (found["exit_code"], found["look_at"]) == (0, [])


def test_a_table_that_was_not_compacted_is_named() -> None:
    maintained = MaintainSummary("manual__1", "/lake")
    maintained.add_table(TableMaintenance("records", 2, 9, failure="CommitError: no"))
    maintained.add_table(TableMaintenance("batches", 2, 9))
    found = summary_of(maintained.to_json())
    assert found is not None
    told = Outcome(ExitCode(found["exit_code"]), found).to_mapping()
    assert (told["exit_code"], told["look_at"]) == (3, ["not compacted: records: CommitError: no"])


def test_a_long_list_is_cut_and_says_so() -> None:
    refused = [Finding(FindingKind.REFUSED, f"log {n}") for n in range(30)]
    found = told(summary(findings=refused))
    lines = found["look_at"]
    assert isinstance(lines, list)
    assert len(lines) == 21
    assert lines[-1] == "and 10 more: see the summary line in the log"


def test_without_a_summary_only_the_exit_code_is_known() -> None:
    assert Outcome(ExitCode.LOOK, {}).to_mapping() == {"exit_code": 3, "look_at": []}


@pytest.mark.parametrize("line", ["", "INFO {", '{"a": 1}', "[1]", '{"exit_code": 0', "12"])
def test_other_lines_are_no_summary(line: str) -> None:
    assert summary_of(line) is None
