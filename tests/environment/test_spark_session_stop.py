"""How Spark ends with a command: in order, and without a wait for PySpark's own side."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.own_spark
def test_spark_that_a_command_started_has_ended_in_order(source: Path, tmp_path: Path) -> None:
    """Its log of events is closed when the command is done: a history server can read it."""
    events = tmp_path / "events"
    events.mkdir()
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
    command += ["--source", str(source), "--lake", str(tmp_path / "lake")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (log,) = events.iterdir()
    assert "SparkListenerApplicationEnd" in log.read_text()
    assert not log.name.endswith(".inprogress")
