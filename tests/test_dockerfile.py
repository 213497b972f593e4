"""The Dockerfile and what is sent to its build, without building it."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest

from seglake.environment.java_home import OLDEST_JAVA

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
# One line an instruction; of several stages, the last is the image.
INSTRUCTIONS = [
    line
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE)).splitlines()
    if line
]
LAST = {line.split()[0]: line.partition(" ")[2] for line in INSTRUCTIONS}
COPIED = [
    source
    for line in INSTRUCTIONS
    if line.startswith("COPY ") and "--from" not in line
    for source in line.split()[1:-1]
]
IGNORE = [
    line
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def is_sent(path: str) -> bool:
    """Whether .dockerignore lets a file through: of the lines that match, the last one decides."""
    ways = [path, *(str(parent) for parent in PurePosixPath(path).parents)]
    verdicts = [
        line.startswith("!")
        for line in IGNORE
        if any(re.fullmatch(_expression(line.strip("!/")), way) for way in ways)
    ]
    return verdicts[-1] if verdicts else True


def _expression(pattern: str) -> str:
    escaped = pattern.replace(".", r"\.").replace("*", "[^/]*")
    return escaped.replace("[^/]*[^/]*/", "(.*/)?")


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    answer = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout + answer.stderr) == (0, "")


def test_all_that_is_copied_is_there_and_sent() -> None:
    assert COPIED
    assert [source for source in COPIED if not (ROOT / source).exists()] == []
    files = [source if (ROOT / source).is_file() else f"{source}/a.py" for source in COPIED]
    assert [file for file in files if not is_sent(file)] == []


def test_nothing_is_sent_but_what_is_copied() -> None:
    top = {path.name for path in ROOT.iterdir()}
    assert {name for name in top if is_sent(name)} == set(COPIED)


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".git/config", ".venv/bin/python", "secrets.toml", "conf/mine.toml"),
        *("build/demo/records/part.parquet", "libs/build/lib/lake/old.py"),
        *("jobs/__pycache__/x.cpython-311.pyc", "libs/a.pyo", "tests/data/x.zip"),
        *("libs/seglake/segment_codec/kernels/record_kernel.decode-1.py311.1.nbc",),
        *("requirements-dev.txt", "samples/broker-0/meta.properties"),
    ],
)
def test_secrets_data_and_leftovers_are_not_sent(path: str) -> None:
    assert not is_sent(path)


def test_every_package_of_ours_is_in_the_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {package.partition("/")[0] for package in packages} <= set(COPIED)
    assert "--no-deps --no-build-isolation . " in _spaced()


def test_the_image_and_a_cluster_s_workers_can_decrypt_remote_tiers() -> None:
    (install,) = [
        call for call in _spaced().split("&& ") if "--requirement requirements.txt" in call
    ]
    assert "--requirement requirements-tiered.txt" in install
    pack = (ROOT / "Makefile").read_text("utf-8").partition("\npack: setup")[2]
    assert "requirements.txt requirements-tiered.txt > $(PACK)/" in pack


def test_every_pinned_file_is_installed_by_its_hashes() -> None:
    calls = [call for call in _spaced().split("&& ") if "pip install" in call]
    of_files = [call for call in calls if "--requirement" in call]
    assert len(of_files) == 2
    assert [call for call in of_files if "--require-hashes" not in call] == []
    assert [call for call in calls if call not in of_files and "--no-deps" not in call] == []


def test_java_and_python_are_those_of_the_product() -> None:
    assert re.findall(r"openjdk-(\d+)-jre-headless", DOCKERFILE) == [str(OLDEST_JAVA)]
    base = re.search(r"^ARG BASE_IMAGE=python:(\d+\.\d+)-slim-bookworm$", DOCKERFILE, re.MULTILINE)
    assert base is not None
    assert f"--python-version {base[1]} " in (ROOT / "Makefile").read_text("utf-8")


def test_image_runs_our_entry_below_tini_as_a_number() -> None:
    init, dashes, python, *options = json.loads(LAST["ENTRYPOINT"])
    assert (init, dashes, python) == ("/usr/bin/tini", "--", "/opt/venv/bin/python")
    assert options[:2] == ["-P", "-m"]
    assert find_spec(options[2]) is not None
    assert LAST["USER"] == "185"  # Kubernetes' runAsNonRoot understands numbers only


def test_dockerfile_names_no_host() -> None:
    assert "://" not in DOCKERFILE


@pytest.mark.parametrize("builders", [{"docker": 0}, {"docker": 1, "podman": 0}])
def test_make_builds_with_what_answers(tmp_path: Path, builders: dict[str, int]) -> None:
    for name, code in builders.items():
        script = f'#!/bin/sh\n[ "$1" = info ] && exit {code}\necho "{name} was told $*"\n'
        (tmp_path / name).write_text(script, "utf-8")
        (tmp_path / name).chmod(0o755)
    answer = subprocess.run(
        ["make", "--no-print-directory", "image", "IMAGE=mine:1", "IMAGE_OPTIONS=--pull"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == f"{list(builders)[-1]} was told build --tag mine:1 --pull .\n"


def _spaced() -> str:
    return re.sub(r"\s+", " ", "\n".join(INSTRUCTIONS))
