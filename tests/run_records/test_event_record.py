"""What a summary names becomes an event each."""

import io
import json
from typing import Any

import pytest

from seglake.pipelines.progress_views import EventLog
from seglake.run_records.event_record import EventRecord, found_events
from seglake.run_records.run_record import RunEnd, RunStart

_START = RunStart(
    command="ingest", run_id="r", engine="local", sources=["/disk"], lake="/lake", writes=True
)


@pytest.mark.parametrize(
    ("summary", "event"),
    [
        (
            {"left_out": {"orders-eu-3": "gone"}},
            {"event": "left_out", "topic": "orders-eu", "partition": 3, "reason": "gone"},
        ),
        (
            {"left_out": {"/disk/lost+found": "denied"}},
            {"event": "left_out", "name": "/disk/lost+found", "reason": "denied"},
        ),
        (
            {"gaps": {"missing": {"a-0": {"gaps": 1, "offsets": 4}}}},
            {"event": "gap", "topic": "a", "partition": 0, "cause": "missing", "gaps": 1}
            | {"offsets": 4},
        ),
        (
            {"stuck": [{"partition": "a-0", "since": "then"}]},
            {"event": "stuck", "topic": "a", "partition": 0, "since": "then"},
        ),
        ({"notes": ["look here"]}, {"event": "note", "message": "look here"}),
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
