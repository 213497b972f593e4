"""A Spark that does not start says why, soon, and in one paragraph."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkConf

from seglake.environment import spark_start
from seglake.environment.errors import SparkStartError
from seglake.environment.spark_start import start, start_context
from support.servers.processes import free_port

MASTER = "spark://127.0.0.1:7077"


def of_master(master: str) -> SparkConf:
    return SparkConf(loadDefaults=False).setMaster(master)


def refuse(text: str) -> NoReturn:
    raise Py4JError(text)


def test_value_and_thread_of_a_start_that_works() -> None:
    assert start(threading.get_ident, MASTER) != threading.get_ident()
    assert start(lambda: "ready", "local[2]") == "ready"


def test_master_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_start, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(spark_start, "_ANSWER_SECONDS", 0.05)
    with pytest.raises(SparkStartError, match=r"spark://127\.0\.0\.1:7077 did not accept the"):
        start(threading.Event().wait, MASTER, is_unanswered=lambda: True)


def test_start_that_does_not_wait_for_its_master_may_take_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark_start, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(spark_start, "_ANSWER_SECONDS", 0)
    looks: list[bool] = []
    ready = threading.Event()

    def looked() -> bool:
        looks.append(False)
        if len(looks) == 3:
            ready.set()
        return False

    assert start(ready.wait, MASTER, is_unanswered=looked)
    assert len(looks) >= 3


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "An error occurred while calling None.org.X.\n: org.Y: No such file: z\n\tat a.b(c)\n",
            "org.Y: No such file: z",
        ),
        ("An error occurred while calling None.org.X.", "An error occurred while calling"),
        ("[JAVA_GATEWAY_EXITED] Java gateway exited.", "[JAVA_GATEWAY_EXITED] Java gateway exited"),
    ],
)
def test_reason_is_what_java_says(said: str, shown: str) -> None:
    with pytest.raises(SparkStartError) as caught:
        start(lambda: refuse(said), "yarn")
    assert str(caught.value).startswith(f"Spark did not start with master yarn: {shown}")
    assert "\n" not in str(caught.value)


def test_java_that_is_too_new_for_this_spark_is_said_to_be() -> None:
    said = (
        "An error occurred while calling None.org.X.\n: java.lang.UnsupportedOperationException:"
        " getSubject is not supported\n\tat a.b(c)\n"
    )
    with pytest.raises(SparkStartError, match=r"This Java is too new for Spark .* a Java 17") as of:
        start(lambda: refuse(said), "local[2]")
    assert "-vv" not in str(of.value)


def test_master_that_is_down_is_named_with_each_of_its_addresses() -> None:
    master = f"spark://127.0.0.1:{free_port()},no-such-host.invalid:7077"
    with pytest.raises(SparkStartError) as caught:
        start_context(of_master(master))
    said = str(caught.value)
    assert f"its master {master} does not answer (" in said
    assert "Connection refused; no-such-host.invalid:7077: " in said


def test_run_against_a_master_that_is_down_ends_with_1_and_one_line(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "samples" / "broker-0"
    call = ["ingest", "--source", str(source), "--lake", str(tmp_path / "lake")]
    master = f"spark://127.0.0.1:{free_port()}"
    answer = subprocess.run(
        [sys.executable, "-m", "seglake", *call, "--master", master],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("seglake: Spark did not start: its master")
    assert len(answer.stderr.splitlines()) == 1
