"""The shell lines of docs/coverage.md bring what only a remote tier has into a lake."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from support import broker_disks
from support.lakes import ingested, oracle_record, read_table
from support.oracle import expected_records
from support.views import viewed

_ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^### Tiered storage\n.+?^```bash\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def test_recipe_fills_the_gaps_that_only_the_tier_has(tmp_path: Path) -> None:
    scenario = broker_disks.unpacked("12_tiered")
    data = scenario / "disks" / "stopped" / "broker0" / "data"
    lake = tmp_path / "lake"
    ingested(data, lake, select={"topics": ["ti"]})
    assert {row["cause"] for row in read_table(lake, "gaps")} == {"remote"}
    found = _SECTION.search((_ROOT / "docs" / "coverage.md").read_text("utf-8"))
    assert found is not None
    places = {
        "/var/lib/kafka/data": data,
        "/tier/": f"{scenario / 'tier'}/",
        "/data/lake": lake,
        "seglake replay": f"{shlex.quote(sys.executable)} -m seglake replay --engine local"
        " --set limits.local_processes=1",
    }
    lines = found[1]
    for place, own in places.items():
        lines = lines.replace(place, str(own))
    done = subprocess.run(
        ["sh", "-ec", lines], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for partition in (0, 1):
        where = f"topic = 'ti' AND partition = {partition}"
        rows = viewed(lake, f'SELECT * FROM current_records WHERE {where} ORDER BY "offset"')
        expected = [*expected_records("12_tiered", "stopped", "ti", partition)]
        assert [oracle_record(row) for row in rows] == expected
    assert viewed(lake, "SELECT sum(remote) AS n FROM completeness") == [{"n": 0}]
