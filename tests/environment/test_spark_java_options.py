"""Java options of the user's own spark-defaults.conf reach the JVM, beside those of seglake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROPERTIES = """
from seglake.environment.spark_session import spark_context
from seglake.settings.settings import SparkSettings

with spark_context(SparkSettings("local[1]"), application="test", verbosity=0) as context:
    system = context._jvm.java.lang.System
    for name in ("javax.net.ssl.trustStore", "seglake.log.level"):
        print(system.getProperty(name))
"""


@pytest.mark.own_spark
def test_a_trust_store_in_spark_defaults_is_kept(tmp_path: Path) -> None:
    line = "spark.driver.extraJavaOptions -Djavax.net.ssl.trustStore=/own/store"
    (tmp_path / "spark-defaults.conf").write_text(f"{line}\n")
    done = subprocess.run(
        [sys.executable, "-c", _PROPERTIES],
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["/own/store", "off"], done.stderr
