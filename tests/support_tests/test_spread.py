"""How tests are spread over workers, and which cases run by default."""

import os
import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def _printed(*arguments: str) -> str:
    """What another pytest prints, of which this one's workers are no part."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=_ROOT, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_spark_runs_the_first_case_of_each_module_by_default() -> None:
    file = "tests/strangers/test_other_digits.py"
    local, spark = (
        re.findall(rf"^{file}::(\w+)\[{engine}", printed, re.MULTILINE)
        for engine, printed in (
            ("local", _printed("--collect-only", "-q", "-m", "not matrix", file)),
            ("spark", _printed("--collect-only", "-q", "-m", "spark and not matrix", file)),
        )
    )
    assert spark == local[:1]
    assert len({*local}) > 1


def test_tests_that_share_a_fixture_of_their_room_are_a_group_of_their_worker() -> None:
    ran = _printed("-n", "1", "-v", "tests/lake/test_appends.py", "-m", "not (matrix or spark)")
    groups = set(re.findall(r"PASSED tests/lake/test_appends\.py::[^@\s]+(@\S+)?", ran))
    assert groups == {"@tests/lake"}
