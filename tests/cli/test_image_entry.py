"""What the image becomes, and what it makes for it to write to."""

import os
import pwd
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from seglake.cli.image_entry import command_of, main, provide_writable

IMAGE = {"SPARK_HOME": "/opt/spark", "JAVA_HOME": "/opt/java"}
POD = {
    **IMAGE,
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@driver:7078",
    "SPARK_EXECUTOR_ID": "7",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "3g",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "exec-7",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}
NOBODY = 1_999_999


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def options(command: list[str]) -> dict[str, str]:
    """The options behind the main class, or behind spark-submit, of which the last counts."""
    return dict(pairwise(command))


@pytest.mark.parametrize("arguments", [["ingest", "--source", "x"], ["--version"], []])
def test_commands_and_options_are_those_of_seglake(arguments: list[str]) -> None:
    assert command_of(arguments, IMAGE) == ["seglake", *arguments]


def test_any_other_program_is_run_as_it_is() -> None:
    assert command_of(["spark-submit", "job.py"], IMAGE) == ["spark-submit", "job.py"]


def test_driver_submits_to_itself_under_the_address_of_its_pod() -> None:
    given = ["--properties-file", "/opt/spark/conf/spark.properties", "job.py", "--lake", "x"]
    command = command_of(["driver", *given], {**IMAGE, "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1"})
    assert command[0] == "/opt/spark/bin/spark-submit"
    assert command[-len(given) :] == given
    assert options(command)["--deploy-mode"] == "client"
    assert "spark.driver.bindAddress=10.0.0.1" in command


def test_executor_is_told_all_that_its_pod_says() -> None:
    command = command_of(["executor"], POD)
    assert command[0] == "/opt/java/bin/java"
    assert {"-Xms3g", "-Xmx3g"} < set(command)
    place = next(i for i, part in enumerate(command) if part.endswith("ExecutorBackend"))
    told = options(command[place + 1 :])
    names = set(POD) - set(IMAGE) - {"SPARK_EXECUTOR_MEMORY"}
    assert set(told.values()) >= {POD[name] for name in names}
    assert told["--driver-url"] == POD["SPARK_DRIVER_URL"]
    assert told["--hostname"] == "10.0.0.7"


def test_java_options_of_an_executor_keep_their_order() -> None:
    numbered = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0)}
    command = command_of(["executor"], {**POD, **numbered, "SPARK_JAVA_OPTS": "no"})
    assert command[1:4] == ["-Dn=0", "-Dn=2", "-Dn=10"]
    assert "no" not in command


def test_executor_finds_configuration_before_jars() -> None:
    places = {"SPARK_CONF_DIR": "/c", "HADOOP_CONF_DIR": "/h", "SPARK_CLASSPATH": "/mine.jar"}
    command = command_of(["executor"], {**POD, **places})
    assert options(command)["-cp"] == "/c:/h:/mine.jar:/opt/spark/jars/*"
    assert options(command_of(["executor"], POD))["-cp"] == "/opt/spark/conf:/opt/spark/jars/*"


def test_executor_outside_of_kubernetes_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SPARK_EXECUTOR_MEMORY", raising=False)
    assert main(["executor"]) == 2
    assert "Kubernetes did not set SPARK_EXECUTOR_MEMORY" in capsys.readouterr().err


def test_word_that_is_no_program_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingset", "--source", "x"]) == 2
    said = capsys.readouterr().err
    assert "ingset is not a command (ingest, " in said


def test_no_place_to_write_is_said_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing"))
    assert main(["--version"]) == 1
    assert "--tmpfs /tmp" in capsys.readouterr().err


def test_a_root_without_any_writable_folder_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path / "nothing")])
    assert main(["--version"]) == 1
    assert "--tmpfs /tmp" in capsys.readouterr().err


def test_kernels_are_copied_to_where_numba_may_write(tmp_path: Path) -> None:
    kept = tmp_path / "image" / "of-a-folder" / "kernel.nbi"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"kernel")
    kept.chmod(0o444)
    environment = {"SEGLAKE_KERNELS": str(tmp_path / "image"), "HOME": str(tmp_path)}
    provide_writable(environment)
    copied = Path(environment["NUMBA_CACHE_DIR"], "of-a-folder", "kernel.nbi")
    assert copied.read_bytes() == b"kernel"
    assert copied.stat().st_mode & 0o200


def test_cache_and_home_of_the_user_are_kept(tmp_path: Path) -> None:
    environment = {"SEGLAKE_KERNELS": "/x", "NUMBA_CACHE_DIR": "/mine", "HOME": str(tmp_path)}
    before = dict(environment)
    provide_writable(environment)
    assert environment == before


def test_home_that_is_not_there_becomes_a_new_folder(tmp_path: Path) -> None:
    environment = {"HOME": "/nothing/here"}
    provide_writable(environment)
    assert Path(environment["HOME"]).parent == tmp_path
    assert os.access(environment["HOME"], os.W_OK)


def test_user_without_a_name_gets_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    monkeypatch.setattr(os, "getgid", lambda: 0)
    environment = {"HOME": str(tmp_path), "LD_PRELOAD": "libmine.so"}
    provide_writable(environment)
    lines = Path(environment["NSS_WRAPPER_PASSWD"]).read_text("utf-8").splitlines()
    assert lines[-1] == f"seglake:x:{NOBODY}:0::{tmp_path}:/bin/sh"
    assert len(lines) == len(pwd.getpwall()) + 1
    assert environment["LD_PRELOAD"] == "libnss_wrapper.so libmine.so"


def test_entry_becomes_the_program_and_its_exit_code() -> None:
    program = [sys.executable, "-c", "import os; print(os.getpid()); raise SystemExit(7)"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "seglake.cli.image_entry", *program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        printed, _ = process.communicate()
    assert (process.returncode, int(printed)) == (7, process.pid)
