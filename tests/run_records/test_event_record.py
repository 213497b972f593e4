"""What a summary names becomes an event each."""

import io
import json
from typing import Any

import pytest

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.progress.progress_views import EventLog
from seglake.run_records.event_record import EventRecord, found_events
from seglake.run_records.run_record import RunEnd, RunStart

_START = RunStart(
    command="ingest", run_id="r", engine="local", sources=["/disk"], lake="/lake", writes=True
)


# Any: values of JSON.
def _found(kind: FindingKind, place: str, **facts: Any) -> dict[str, Any]:
    return Finding(kind, "it is so", place, facts=facts).to_mapping()


@pytest.mark.parametrize(
    ("summary", "event"),
    [
        (
            {"findings": [_found(FindingKind.LEFT_OUT, "orders-eu-3", reason="gone")]},
            {"event": "left_out", "topic": "orders-eu", "partition": 3, "message": "it is so"}
            | {"ranges": [], "reason": "gone"},
        ),
        (
            {"findings": [_found(FindingKind.LEFT_OUT, "/disk/lost+found")]},
            {"event": "left_out", "name": "/disk/lost+found", "message": "it is so", "ranges": []},
        ),
        (
            {"gaps": {"missing": {"a-0": {"gaps": 1, "offsets": 4}}}},
            {"event": "gap", "topic": "a", "partition": 0, "cause": "missing", "gaps": 1}
            | {"offsets": 4},
        ),
        (
            {"findings": [_found(FindingKind.NOTE, "")]},
            {"event": "note", "message": "it is so", "ranges": []},
        ),
    ],
)
def test_what_a_summary_names_is_an_event_with_its_place(
    summary: dict[str, Any], event: dict[str, Any]
) -> None:
    assert [facts for _, facts in found_events(summary)] == [event]


def test_a_traceback_is_a_field_and_only_where_it_is_wanted() -> None:
    for has_traceback in (False, True):
        out = io.StringIO()
        record = EventRecord(EventLog(out, {}), has_traceback=has_traceback)
        end = RunEnd(exit_code=1, seconds=1.0, summary={}, error=OSError("disk"))
        record.end(_START, end)
        (event,) = map(json.loads, out.getvalue().splitlines())
        assert (event["event"], event["kind"], event["message"]) == ("failed", "OSError", "disk")
        assert ("traceback" in event) == has_traceback


@pytest.mark.parametrize("place", ["orders-eu", "-7"])
def test_a_name_that_is_no_partition_s_stays_whole(place: str) -> None:
    [(_, facts)] = found_events({"findings": [_found(FindingKind.LEFT_OUT, place)]})
    assert facts["name"] == place


def test_the_end_has_the_counts_of_the_summary_and_no_texts() -> None:
    out = io.StringIO()
    summary = {"records": 5, "lake": "/lake", "seconds": 9.0, "exit_code": 0, "topics": ["a"]}
    EventRecord(EventLog(out, {})).end(_START, RunEnd(exit_code=3, seconds=1.5, summary=summary))
    (event,) = map(json.loads, out.getvalue().splitlines())
    assert (event["event"], event["level"], event["records"]) == ("finished", "warning", 5)
    assert (event["exit_code"], event["seconds"]) == (3, 1.5)
    assert not {"lake", "topics"} & event.keys()


def test_a_failure_has_no_traceback_unless_it_is_asked_for() -> None:
    out = io.StringIO()
    end = RunEnd(exit_code=1, seconds=1.0, summary={}, error=OSError("disk"))
    EventRecord(EventLog(out, {})).end(_START, end)
    assert "traceback" not in json.loads(out.getvalue())
