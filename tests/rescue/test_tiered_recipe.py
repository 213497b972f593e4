"""The command of docs/tiered.md brings what only a remote tier has into a lake."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from support import broker_disks
from support.lakes import ingested, oracle_record, read_table
from support.oracle import expected_records
from support.views import viewed

_PAGE = Path(__file__).parents[2] / "docs" / "tiered.md"
_COMMAND = re.compile(r"^seglake replay .+$", re.MULTILINE)


def test_the_command_fills_the_gaps_that_only_the_tier_has(tmp_path: Path) -> None:
    scenario = broker_disks.unpacked("12_tiered")
    data = scenario / "disks" / "stopped" / "broker0" / "data"
    lake = tmp_path / "lake"
    ingested(data, lake, select={"topics": ["ti"]})
    assert {row["cause"] for row in read_table(lake, "gaps")} == {"remote"}
    (line,) = _COMMAND.findall(_PAGE.read_text("utf-8"))
    places = {
        "s3://tier/kafka": scenario / "tier",
        "/data/lake": lake,
        "seglake replay": f"{shlex.quote(sys.executable)} -m seglake replay --engine local"
        " --set limits.local_processes=1",
    }
    for place, own in places.items():
        line = line.replace(place, str(own))
    done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for partition in (0, 1):
        where = f"topic = 'ti' AND partition = {partition}"
        rows = viewed(lake, f'SELECT * FROM current_records WHERE {where} ORDER BY "offset"')
        expected = [*expected_records("12_tiered", "stopped", "ti", partition)]
        assert [oracle_record(row) for row in rows] == expected
    assert viewed(lake, "SELECT sum(remote) AS n FROM completeness") == [{"n": 0}]
