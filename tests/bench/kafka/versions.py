"""With what something was measured."""

import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pyspark

from bench.kafka.brokers import BrokerVersion
from bench.kafka.systems import CLIENT
from seglake.environment.delta_jars import NEWEST, jars_of


def versions() -> str:
    """Of everything that takes part."""
    jars = Path(pyspark.__file__).parent / "jars"
    parquet = next(jars.glob("parquet-hadoop-*.jar")).stem.removeprefix("parquet-hadoop-")
    brokers = " and ".join(BrokerVersion)
    client = CLIENT.rpartition(":")[2]
    parts = {
        "seglake": version("seglake"),
        "Kafka": brokers,
        "kafka-clients of the readers": client,
        "Spark": pyspark.__version__,
        "Delta": jars_of(*NEWEST)[0].version,
        "parquet-hadoop": parquet,
        "pyarrow": version("pyarrow"),
        "Python": platform.python_version(),
        "Java": _java(),
    }
    return ", ".join(f"{name} {number}" for name, number in parts.items())


def _java() -> str:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else said.strip()
