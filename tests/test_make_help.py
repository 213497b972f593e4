"""`make help` prints every target, from the comments behind them."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = [
    *("help", "setup", "setup-airflow", "setup-browser", "fmt", "lint", "type"),
    *("test", "test-ci", "test-all", "collect", "test-times", "mutants", "flips"),
    "value-pairs",
    "torture",
    *("test-s3", "test-hdfs"),
    *("test-cluster", "test-airflow", "test-browser", "test-image", "test-codec", "test-spark"),
    "test-versions",
    *("audit-dependencies", "sbom"),
    *(
        "pack",
        "image",
        "demo",
        "bench",
        "bench-storage",
        "bench-tiers",
        "bench-erase",
        "bench-values",
        "bench-latest",
        "bench-scale",
        "bench-life",
        "bench-kafka",
        "screenshots",
        "docs",
    ),
    *("requirements", "clean", "ci"),
]


def test_make_help_lists_every_target_with_what_it_does() -> None:
    answer = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
    assert list(listed) == TARGETS
    assert all(listed.values())


def test_every_phony_target_has_a_comment() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE)
    assert phony == TARGETS


def test_python_that_is_too_old_is_refused_with_its_name(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    old.chmod(0o755)
    command = ["make", "--always-make", f"VENV={tmp_path / 'venv'}", f"PYTHON={old}", "setup"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert f"needs Python 3.11 or newer, and '{old}' is not one" in answer.stderr
    assert not (tmp_path / "venv").exists()
