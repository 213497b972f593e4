"""`ingest --rescue`: a lake may be begun without it and continued with it, or the reverse."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import seglake
from support.audits import audited
from support.broker_disks import unpacked
from support.views import viewed

_CLUSTERS = [("06_transactions", "live"), ("08_replicas", "diverged"), ("10_crash", "killed")]
_PLACE = "topic, partition"
_WHAT = {
    "records": f'SELECT {_PLACE}, "offset", value, transaction_state FROM current_records',
    "gaps": f"SELECT {_PLACE}, start_offset, next_offset, cause FROM current_gaps",
    "losers": f"SELECT DISTINCT {_PLACE}, last_offset, expected_crc FROM quarantine"
    " WHERE defect_code = 'replica_conflict' AND raw_is_complete",
    "damage": f"SELECT DISTINCT {_PLACE}, segment, position FROM quarantine"
    " WHERE defect_code <> 'replica_conflict'",
}


def ran(disks: Path, lake: Path, *rescues: bool) -> list[int]:
    """The exit codes of several ingests of the same disks."""
    return [
        seglake.ingest(disks, lake, engine="local", rescue=rescue).exit_code for rescue in rescues
    ]


def content(lake: Path) -> dict[str, Counter[Sequence[object]]]:
    """All that stands in a lake, however it came there."""
    return {
        name: Counter(tuple(row.values()) for row in viewed(lake, query))
        for name, query in _WHAT.items()
    }


@pytest.mark.parametrize(("scenario", "copy"), _CLUSTERS)
def test_it_makes_no_difference_when_the_rescue_begins(
    scenario: str, copy: str, tmp_path: Path
) -> None:
    disks = unpacked(scenario) / "disks" / copy
    ran(disks, tmp_path / "at once", True)
    ran(disks, tmp_path / "later", False, True)
    expected = content(tmp_path / "at once")
    assert content(tmp_path / "later") == expected
    assert ran(disks, tmp_path / "at once", False, True) == [0, 0]
    assert content(tmp_path / "at once") == expected
    assert audited(tmp_path / "later").exit_code == audited(tmp_path / "at once").exit_code
