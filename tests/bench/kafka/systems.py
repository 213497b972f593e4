"""What is measured against each other: how each is started, and how its output is checked."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable

import seglake
from bench.kafka.brokers import Broker
from bench.kafka.java import compiled
from bench.kafka.sessions import Job, measured_jobs
from bench.kafka.topics import Topic, segments
from bench.processes import ROOT
from seglake.environment.delta_jars import delta_jars
from support.servers.maven_jars import maven_jars

_TESTS = ROOT / "tests"
_SPARK = Path(pyspark.__file__).parent
KAFKA_SOURCE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
CLIENT = "org.apache.kafka:kafka-clients:3.9.2"  # what the source above is built with
_ARTIFACTS = (
    KAFKA_SOURCE,
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{pyspark.__version__}",
    CLIENT,
    "org.apache.commons:commons-pool2:2.13.1",
)


class System(StrEnum):
    """Ways from a Kafka log to a table."""

    LOCAL = "seglake, local engine"
    SPARK = "seglake, Spark"
    KAFKA_SOURCE = "Spark's Kafka source"
    JAVA = "plain Java"


@dataclass(frozen=True, slots=True)
class Case:
    """A topic, the broker that has it, and how many records a consumer gets of it."""

    topic: Topic
    broker: Broker
    record_count: int

    @property
    def log_bytes(self) -> int:
        return sum(path.stat().st_size for path in segments(self.topic, self.broker.log_dir))


def run(system: System, case: Case, job_count: int, folder: Path) -> list[Job]:
    """Jobs of one system in one process; what they write is checked and removed.

    Raises:
        RuntimeError: a job failed.
        ValueError: one did not write as many records as there are.
    """

    def checked(output: Path) -> int:
        found = _row_count(system, output)
        if found != case.record_count:
            raise ValueError(f"{case.topic.name}, {system}: {found} of {case.record_count} records")
        files = [path for path in output.rglob("*") if path.suffix == ".parquet"]
        size_bytes = sum(path.stat().st_size for path in files)
        shutil.rmtree(output)
        return size_bytes

    outputs = [folder / f"output-{number}" for number in range(job_count)]
    for output in outputs:
        shutil.rmtree(output, ignore_errors=True)
    python_path = os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])
    return measured_jobs(
        _command(system, case),
        outputs,
        broker_pid=case.broker.process.pid,
        checked=checked,
        log=folder / f"{case.topic.name}-{system.name.lower()}.log",
        environment={"PYTHONPATH": python_path, "PYSPARK_PYTHON": sys.executable},
    )


def _command(system: System, case: Case) -> Sequence[str]:
    jobs = [sys.executable, "-m", "bench.kafka.jobs"]
    topic, broker = case.topic.name, case.broker
    match system:
        case System.LOCAL:
            return [*jobs, "seglake", "local", str(broker.log_dir), topic]
        case System.SPARK:
            return [*jobs, "seglake", "spark", str(broker.log_dir), topic]
        case System.KAFKA_SOURCE:
            jars = [*delta_jars(os.environ, _SPARK), *source_jars().glob("*.jar")]
            return [*jobs, "spark-kafka", broker.bootstrap, topic, ",".join(map(str, jars))]
        case System.JAVA:
            class_path = f"{source_jars()}/*:{_SPARK / 'jars'}/*"
            class_path = f"{compiled('PlainWriter', class_path)}:{class_path}"
            threads = str(os.cpu_count() or 1)
            return ["java", "-cp", class_path, "PlainWriter", threads, *_files(case)]


def least_seconds(case: Case, folder: Path) -> float | None:
    """The CPU time that nothing can save, see `bench.kafka.limit`; None of the old formats."""
    if case.topic.message_format:
        return None
    lake = folder / "limit"
    shutil.rmtree(lake, ignore_errors=True)
    seglake.ingest(case.broker.log_dir, lake, topics=[case.topic.name], engine="local")
    command = [sys.executable, "-m", "bench.kafka.limit", str(lake / "records"), *_files(case)]
    answer = subprocess.run(command, cwd=_TESTS, capture_output=True, text=True, check=True).stdout
    shutil.rmtree(lake)
    return float(answer)


def _files(case: Case) -> list[str]:
    return [str(path) for path in segments(case.topic, case.broker.log_dir)]


def source_jars() -> Path:
    """The folder with the JARs of Spark's Kafka source and sink."""
    return maven_jars(f"spark-kafka-{pyspark.__version__}", _ARTIFACTS, alone=True)


def _row_count(system: System, output: Path) -> int:
    match system:
        case System.LOCAL | System.SPARK:
            return DeltaTable(output / "records").to_pyarrow_dataset().count_rows()
        case System.KAFKA_SOURCE:
            return DeltaTable(output).to_pyarrow_dataset().count_rows()
        case System.JAVA:
            return sum(pq.read_metadata(path).num_rows for path in output.glob("*.parquet"))
