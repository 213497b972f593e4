"""Credentials given as Spark's properties are shown by nothing that Spark or we show."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECRETS = {
    "spark.hadoop.fs.s3a.access.key": "PUBLIC-HALF-1",
    "spark.hadoop.fs.s3a.secret.key": "HIDDEN-2",
    "spark.hadoop.fs.s3a.session.token": "HIDDEN-3",
    "spark.hadoop.fs.s3a.encryption.key": "HIDDEN-4",
    "spark.hadoop.fs.s3a.bucket.orders.access.key": "PUBLIC-HALF-5",
    "spark.hadoop.fs.s3a.bucket.orders.secret.key": "HIDDEN-6",
    "spark.hadoop.fs.s3a.bucket.orders.session.token": "HIDDEN-7",
    "spark.executorEnv.AWS_ACCESS_KEY_ID": "PUBLIC-HALF-8",
    "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "HIDDEN-9",
}
PLAIN = {"spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9"}

# Runs a task, then prints what the UI shows, and every process that this one has started.
PROGRAM = """
import json, os, sys
from pathlib import Path
from urllib.request import ProxyHandler, build_opener
from seglake.environment.spark_session import spark_context
from seglake.settings.settings import SparkSettings

settings = SparkSettings("local[1]", tuple(json.loads(sys.stdin.read()).items()))
with spark_context(settings, application="test", verbosity=2) as context:
    known = context._jsc.hadoopConfiguration().get("fs.s3a.secret.key")
    context.parallelize([1], 1).map(str).collect()
    read = build_opener(ProxyHandler({})).open
    page = context.uiWebUrl
    facts = f"{page}/api/v1/applications/{context.applicationId}/environment"
    shown = {url: read(url).read().decode() for url in (f"{page}/environment/", facts)}
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.getpgid(int(line.parent.name)) == os.getpgid(0):
                shown[str(line)] = line.read_text().replace("\\0", " ")
        except OSError:
            pass
print(json.dumps({"known": known, "facts": shown.pop(facts), "shown": shown}))
"""


@pytest.mark.own_spark
def test_credentials_are_in_no_page_log_event_or_command_line(tmp_path: Path) -> None:
    properties = {
        **SECRETS,
        **PLAIN,
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": tmp_path.as_uri(),
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(properties),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout.splitlines()[-1])
    shown = {**result["shown"], "facts": result["facts"], "log": answer.stderr}
    for file in tmp_path.rglob("*"):
        if file.is_file():
            shown[str(file)] = file.read_text(errors="replace")

    found = dict(json.loads(result["facts"])["sparkProperties"])
    assert result["known"] == SECRETS["spark.hadoop.fs.s3a.secret.key"]
    assert found[next(iter(PLAIN))] == PLAIN[next(iter(PLAIN))]
    assert {name: found[name] for name in SECRETS} == dict.fromkeys(SECRETS, "*********(redacted)")
    assert " INFO " in shown["log"]
    assert any("pyspark-shell" in text for name, text in shown.items() if "/proc/" in name)
    assert any("SparkListenerEnvironmentUpdate" in text for text in shown.values())
    leaks = [
        (name, value) for name, text in shown.items() for value in SECRETS.values() if value in text
    ]
    assert leaks == []
