"""The pins: one version each, hashed, without a place of this or that machine."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = (
    *("requirements-build.txt", "requirements.txt", "requirements-dev.txt"),
    "airflow_dags/requirements.txt",
)
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


def pins(text: str) -> set[tuple[str, str]]:
    return {(name.lower(), version) for name, version in _PIN.findall(text)}


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_host_and_no_folder(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    assert "://" not in text
    assert "/" not in re.sub(r"#.*", "", text)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(lock: str) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / lock).read_text("utf-8"))[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_run_time_pins_are_the_same_for_developers() -> None:
    runtime = pins((ROOT / "requirements.txt").read_text("utf-8"))
    developers = pins((ROOT / "requirements-dev.txt").read_text("utf-8"))
    assert runtime - developers == set()


def test_distribution_asks_for_what_is_wanted() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert pins("\n".join(project["dependencies"])) == pins(
        (ROOT / "requirements.in").read_text("utf-8")
    )


def test_extras_are_what_the_tests_use() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = pins("\n".join(chain(*project["optional-dependencies"].values())))
    assert extras
    assert extras <= pins((ROOT / "requirements-dev.in").read_text("utf-8"))


@pytest.mark.parametrize("source", [lock.replace(".txt", ".in") for lock in LOCKS])
def test_every_requirement_says_why(source: str) -> None:
    lines = (ROOT / source).read_text("utf-8").splitlines()
    wanted = [line for line in lines if "==" in line]
    silent = [line for line in wanted if "  # " not in line]
    assert wanted
    assert silent == []
