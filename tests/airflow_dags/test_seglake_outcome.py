"""What Airflow is told of a job's end."""

from dataclasses import fields

import pytest

from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary, TableMaintenance
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.report.ingest_summary import Findings, IngestSummary
from seglake.pipelines.segment_ingest.report.unread_files import UnreadEntry
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


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"refused": {"orders-0": "orders-0: another log"}}, "refused: orders-0: another log"),
        ({"left_out": {"orders": "orders: run again"}}, "left out: orders: run again"),
        ({"ingested_unknown_outcomes": ["a-0: producer 6"]}, "taken in doubt: a-0: producer 6"),
        ({"contradicted": ["a-0: producer 6"]}, "taken otherwise before: a-0: producer 6"),
        ({"superseded": ["a-0 [5, 9): 4 records"]}, "lost an election: a-0 [5, 9): 4 records"),
        ({"limits_crossed": ["limits.x: 2"]}, "limit crossed: limits.x: 2"),
        *(
            (
                {"conflicts": {"a-0": ConflictCount(lost=1), "b-0": ConflictCount(**{kind: 1})}},
                "copies contradict each other: b-0",
            )
            for kind in ConflictCount._fields
            if kind != "lost"
        ),
    ],
)
def test_each_cause_of_exit_code_three_is_named(values: dict[str, object], line: str) -> None:
    found = told(summary(**values))
    assert found["exit_code"] == 3
    assert found["look_at"] == [line]


def test_a_table_that_was_not_compacted_is_named() -> None:
    tables = [
        TableMaintenance("records", 2, 9, failure="CommitError: no"),
        TableMaintenance("batches", 2, 9),
    ]
    found = summary_of(MaintainSummary("manual__1", "/lake", tables=tables).to_json())
    assert found is not None
    told = Outcome(ExitCode(found["exit_code"]), found).to_mapping()
    assert (told["exit_code"], told["look_at"]) == (3, ["not compacted: records: CommitError: no"])


_STUCK = {
    "partition": "a-0",
    "bound_offset": 5,
    "since": "2024-01-01T00:00:00+00:00",
    "stopped_by": "high_watermark",
    "log_end_offset": 9,
}


_SAMPLES: dict[str, object] = {
    "unread_files": [UnreadEntry("loose_segment", "/data", "/data", 1, 69, "0.log")],
    "stuck": [_STUCK],
    "blocked": [{"partition": "a-0", "reason": "no entry"}],
}


def test_no_cause_of_exit_code_three_is_forgotten() -> None:
    samples: dict[str, object] = {"list": ["x"], "dict": {"a-0": "x"}}
    causes = []
    for field in fields(Findings):
        kind = type(getattr(summary().findings, field.name)).__name__
        if kind in samples and field.name not in ("conflicts", "not_ingested_yet"):
            sample = _SAMPLES.get(field.name, samples[kind])
            made = summary(**{field.name: sample})
            if made.exit_code == ExitCode.LOOK:
                causes.append(field.name)
                assert told(made)["look_at"], field.name
    assert {"refused", "left_out", "limits_crossed"} <= set(causes)


def test_a_long_list_is_cut_and_says_so() -> None:
    found = told(summary(refused={str(n): f"log {n}" for n in range(30)}))
    lines = found["look_at"]
    assert isinstance(lines, list)
    assert len(lines) == 21
    assert lines[-1] == "and 10 more: see the summary line in the log"


def test_without_a_summary_only_the_exit_code_is_known() -> None:
    assert Outcome(ExitCode.LOOK, {}).to_mapping() == {"exit_code": 3, "look_at": []}


@pytest.mark.parametrize("line", ["", "INFO {", '{"a": 1}', "[1]", '{"exit_code": 0', "12"])
def test_other_lines_are_no_summary(line: str) -> None:
    assert summary_of(line) is None
