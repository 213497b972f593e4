"""The schedules of the pages do what they say, up to cron and Airflow themselves."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.lakes import read_table

_ROOT = Path(__file__).parents[2]
_FIELDS = re.compile(r"^(?:[\d*]+ ){5}(.+)$", re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def _ran(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell with the sample disk, and a folder in the place of the machine's."""
    places = {
        "/opt/venv/bin/seglake": f"{shlex.quote(sys.executable)} -m seglake",
        "/var/lib/kafka/data": str(_ROOT / "samples" / "broker-0"),
        "/data/lake": str(folder / "lake"),
        "/var/log/": f"{folder}/",
    }
    for place, own in places.items():
        line = line.replace(place, own)
    line = line.replace("--engine local", "--engine local --set limits.local_processes=1")
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


def test_cron_mails_the_summary_of_a_run_that_needs_a_look_and_nothing_else(tmp_path: Path) -> None:
    text = (_ROOT / "docs" / "operations.md").read_text("utf-8")
    ingest, maintain = _FIELDS.findall(text)
    damaged = _ran(ingest, tmp_path)
    assert damaged.stdout.startswith("2070 records in ")
    assert "quarantined" in damaged.stdout
    for line in (ingest, maintain):
        done = _ran(line, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(read_table(tmp_path / "lake", "records")) == 2070


def test_bash_operator_is_red_once_for_damage_and_is_not_tried_again(tmp_path: Path) -> None:
    text = (_ROOT / "docs" / "airflow.md").read_text("utf-8")
    (block,) = (block for block in _PYTHON.findall(text) if "BashOperator" in block)
    (call,) = [
        node
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "BashOperator"
    ]
    given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    assert given["retries"] == 0
    assert [_ran(given["bash_command"], tmp_path).returncode for _ in range(2)] == [3, 0]
