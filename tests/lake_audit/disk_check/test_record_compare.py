"""Records of a disk and of the lake, compared field by field."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_mapping, to_text
from support import broker_disks
from support.audits import CHANGED_OFFSET, change_record, checked, only_copy
from support.lakes import Row, ingested


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"value": lambda row: row["value"][:-1] + b"!"}, id="value_shorter"),
        pytest.param({"value": lambda row: None}, id="value_null"),
        pytest.param({"value": lambda row: b""}, id="value_empty"),
        pytest.param({"key": lambda row: row["key"] + b"!"}, id="key_longer"),
        pytest.param({"key": lambda row: None}, id="key_null"),
        pytest.param({"timestamp_ms": lambda row: row["timestamp_ms"] + 1}, id="time_later"),
        pytest.param({"timestamp_ms": lambda row: None}, id="time_null"),
        pytest.param({"timestampType": lambda row: 1}, id="time_type"),
        pytest.param({"headers": lambda row: None}, id="headers_null"),
        pytest.param({"headers": lambda row: []}, id="headers_none"),
        pytest.param(
            {"headers": lambda row: [*row["headers"], *row["headers"]]}, id="headers_twice"
        ),
        pytest.param(
            {"headers": lambda row: [{"key": "H", "value": row["headers"][0]["value"]}]},
            id="header_renamed",
        ),
        pytest.param({"headers": lambda row: [{"key": "h", "value": b""}]}, id="header_value"),
        pytest.param({"headers": lambda row: [{"key": "h", "value": None}]}, id="header_null"),
    ],
)
def test_a_record_with_another_payload_is_found_and_named(
    changes: dict[str, Callable[[Row], object]], taken: Path, lake: Path
) -> None:
    change_record(lake, **changes)
    check = only_copy(checked(taken, lake))
    assert check.report.equal == 39
    assert check.report.different == (1, (CHANGED_OFFSET,))
    assert exit_code([check]) == 3
    assert "PROBLEM  not as in the lake: 1 record at offset 17" in to_text([check])
    assert to_mapping([check])["copies"][0]["different"]["first_offsets"] == (CHANGED_OFFSET,)


@pytest.mark.parametrize(("taken_copy", "disk"), [("before", "after"), ("after", "before")])
def test_messages_without_a_time_are_equal_when_a_cleaner_wrote_them_in_the_new_format(
    taken_copy: str, disk: str, lake: Path
) -> None:
    ingested(broker_disks.log_dir("13_legacy_in_4x", taken_copy), lake)
    checks = checked(broker_disks.log_dir("13_legacy_in_4x", disk), lake)
    assert exit_code(checks) == 0
    assert sum(check.report.equal for check in checks) == 483
