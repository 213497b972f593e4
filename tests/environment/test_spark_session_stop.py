"""How Spark ends with a command: in order, and without a wait for PySpark's own side."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.payload_disks import PAYLOADS, write_damaged_disks
from support.payload_places import places_of


@pytest.mark.own_spark
def test_spark_that_a_command_started_has_ended_in_order(tmp_path: Path) -> None:
    """Its log of events is closed when the command is done, and has no payload."""
    events = tmp_path / "events"
    events.mkdir()
    write_damaged_disks(tmp_path / "disks")
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f"""[spark.properties]
"spark.eventLog.enabled" = "true"
"spark.eventLog.compress" = "false"
"spark.eventLog.rolling.enabled" = "false"
"spark.eventLog.dir" = "{events.as_uri()}"
"""
    )
    command = [sys.executable, "-m", "seglake", "ingest", "--config", str(settings)]
    command += ["--source", str(tmp_path / "disks"), "--lake", str(tmp_path / "lake"), "--salvage"]
    # Not pipes: they are open until the JVM has ended too.
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(command, stdout=said, stderr=said, check=False)
    assert done.returncode == 3, (tmp_path / "said").read_text()
    (log,) = events.iterdir()
    assert "SparkListenerApplicationEnd" in log.read_text()
    assert not log.name.endswith(".inprogress")
    assert places_of(events, PAYLOADS) == {}
    assert places_of(tmp_path / "lake", PAYLOADS)["salvaged_records"] == {"key", "value"}


_DEATH = """
import os, signal
from seglake.environment.interrupts import ends_process
from seglake.environment.spark_session import spark_context
from seglake.settings.settings import SparkSettings

ends_process.set(True)
try:
    with spark_context(SparkSettings("local[1]"), application="test", verbosity=0) as context:
        os.kill(context._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
        raise ValueError("what came of it")
except ValueError as error:
    print(error, flush=True)
os._exit(0)
"""


@pytest.mark.own_spark
def test_what_came_of_a_dead_virtual_machine_is_told_and_not_that_it_cannot_be_stopped() -> None:
    command = [sys.executable, "-c", _DEATH]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "what came of it\n", done.stderr
