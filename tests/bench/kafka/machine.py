"""Where and with what something was measured."""

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pyspark

from bench.kafka.brokers import BrokerVersion
from bench.kafka.systems import CLIENT


def machine() -> str:
    """Its processor, cores, memory and system."""
    models = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = models[0] if models else platform.machine()
    cores = f"{os.cpu_count()} cores"
    return f"{model}, {cores}, {memory_gib:.0f} GiB, Linux {platform.release()}"


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
        "Delta": version("delta-spark"),
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
