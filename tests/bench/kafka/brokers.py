"""Brokers on loopback that write what is measured: real ones, whose JARs Maven brings.

The current one writes format v2 only. Formats v0 and v1 are of a 3.9 with ZooKeeper, the last that
can still be told to write them.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from support.servers.maven_jars import maven_jars
from support.servers.processes import LOOPBACK, Running, free_port, started

_START_SECONDS = 120
_HEAP = ("-Xms1g", "-Xmx1g")
_CLUSTER_ID = "c2VnbGFrZS1iZW5jaC0wMQ"
_ALWAYS = {
    "num.partitions": "4",
    "log.retention.ms": "-1",  # the records' times lie years back
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "500",  # seglake stops there
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}

_STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
_TIERED = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": _STORAGE,
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    "rlmm.config.remote.log.metadata.topic.num.partitions": "2",
    "remote.log.manager.task.interval.ms": "200",
    "log.retention.check.interval.ms": "3000",  # deletes local segments
    "log.initial.task.delay.ms": "500",
}


class BrokerVersion(StrEnum):
    """Which broker writes a topic."""

    CURRENT = "4.3.0"
    LEGACY = "3.9.2"


@dataclass(frozen=True, slots=True)
class Broker:
    """A running broker.

    Attributes:
        log_dir: where its partitions lie.
        jars: a class path with its clients.
    """

    bootstrap: str
    log_dir: Path
    jars: str
    process: Running


@contextmanager
def broker(version: BrokerVersion, folder: Path) -> Iterator[Broker]:
    """Start a broker on what is in `folder`, nothing at first; it ends with the block."""
    start = _kraft if version is BrokerVersion.CURRENT else _with_zookeeper
    with start(folder, _jars(version), {}) as running:
        yield running


@contextmanager
def tiered_broker(folder: Path) -> Iterator[Broker]:
    """Start a current broker that uploads at once to LocalTieredStorage, in `folder/tier`."""
    version = BrokerVersion.CURRENT
    storage = f"org.apache.kafka:kafka-storage:{version}:test"
    jars = f"{_jars(version)}{os.pathsep}{maven_jars(f'tier-{version}', [storage], alone=True)}/*"
    with _kraft(folder, jars, _TIERED | {"rsm.config.dir": str(folder / "tier")}) as running:
        yield running


def _jars(version: BrokerVersion) -> str:
    return f"{maven_jars(f'kafka-{version}', [f'org.apache.kafka:kafka_2.13:{version}'])}/*"


@contextmanager
def _kraft(folder: Path, jars: str, others: Mapping[str, str]) -> Iterator[Broker]:
    folder.mkdir(parents=True, exist_ok=True)
    port, controller = free_port(), free_port()
    listeners = f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller}"
    properties = _ALWAYS | {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        **others,
    }
    conf = _write(folder / "server.properties", properties)
    if not (folder / "data" / "meta.properties").exists():
        tool = ["java", "-cp", jars, "kafka.tools.StorageTool", "format"]
        subprocess.run([*tool, "-t", _CLUSTER_ID, "-c", conf], check=True, capture_output=True)
    with _running(folder, jars, conf, port) as found:
        yield found


@contextmanager
def _with_zookeeper(folder: Path, jars: str, others: Mapping[str, str]) -> Iterator[Broker]:
    folder.mkdir(parents=True, exist_ok=True)
    port, zookeeper = free_port(), free_port()
    quorum = {
        "tickTime": "2000",
        "dataDir": str(folder / "zookeeper"),
        "clientPort": str(zookeeper),
        "clientPortAddress": LOOPBACK,
        "admin.enableServer": "false",
    }
    properties = _ALWAYS | {
        "broker.id": "1",
        "zookeeper.connect": f"{LOOPBACK}:{zookeeper}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "log.dirs": str(folder / "data"),
        "inter.broker.protocol.version": "2.8",  # of a newer one it writes v2 only
        **others,
    }
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    command = ["java", "-cp", jars, main, _write(folder / "zookeeper.properties", quorum)]
    with started(command, log=folder / "zookeeper.out") as process:
        process.wait_for_port(zookeeper, seconds=_START_SECONDS)
        conf = _write(folder / "server.properties", properties)
        with _running(folder, jars, conf, port) as found:
            yield found


@contextmanager
def _running(folder: Path, jars: str, conf: str, port: int) -> Iterator[Broker]:
    command = ["java", "-XX:+UseG1GC", *_HEAP, "-cp", jars, "kafka.Kafka", conf]
    with started(command, log=folder / "broker.out") as process:
        process.wait_for_port(port, seconds=_START_SECONDS)
        yield Broker(f"{LOOPBACK}:{port}", folder / "data", jars, process)


def wait_for_high_watermarks(log_dir: Path, ends: dict[str, int]) -> None:
    """Wait until the broker has noted on disk that all records are committed.

    Args:
        ends: the log end offset of each partition, as `topic partition`.
    """
    _wait_for(log_dir / "replication-offset-checkpoint", ends)


def wait_for_cleaning(partitions: Sequence[Path]) -> None:
    """Wait until partitions of one log dir are compacted up to their last segments."""
    active = {
        " ".join(folder.name.rsplit("-", 1)): max(int(log.stem) for log in folder.glob("*.log"))
        for folder in partitions
    }
    _wait_for(partitions[0].parent / "cleaner-offset-checkpoint", active)


def _wait_for(checkpoint: Path, offsets: dict[str, int]) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
        noted = {name: int(offset) for name, _, offset in (x.rpartition(" ") for x in lines[2:])}
        if all(noted.get(name, 0) >= offset for name, offset in offsets.items()):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{checkpoint.name} has {noted} and never had {offsets}")
        time.sleep(0.2)


def _write(path: Path, properties: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)
