"""What docs/rescue.md shows of bringing topics into a new cluster, with a real broker."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.kafka.brokers import Broker, BrokerVersion, broker
from bench.kafka.systems import KAFKA_SOURCE, source_jars
from seglake.environment.java_home import provide_java
from support import broker_disks
from support.lakes import ingested
from support.oracle import Isolation, OracleRecord, expected_records
from support.servers.kafka_tools import ConsumedRecord, add_scripts, consumed

_PAGE = Path(__file__).parents[2] / "docs" / "rescue.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MISSING = [name for name in ("mvn", "java", "javac") if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(_MISSING), reason=f"needs {_MISSING}, to fetch and run brokers"),
]


@pytest.fixture(scope="module")
def new_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker(BrokerVersion.CURRENT, tmp_path_factory.mktemp("broker")) as running:
        yield running


def _section() -> str:
    text = _PAGE.read_text("utf-8")
    return text.partition("\n## Bring topics into a new cluster\n")[2].partition("\n## ")[0]


def _brought_back(
    scenario: str, copy: str, folder: Path, cluster: Broker, changes: dict[str, str]
) -> list[str]:
    """Run the section's commands as they stand, but for names; what each block prints.

    Args:
        changes: what to put in the place of a text.
    """
    disks = broker_disks.unpacked(scenario) / "disks" / copy
    ingested(disks, folder / "lake", isolation="read_committed", select={"internal_topics": True})
    add_scripts(folder)
    changes |= {
        "/data/lake": str(folder / "lake"),
        "new:9092": cluster.bootstrap,
        "--replication-factor 3": "--replication-factor 1",
        f"--packages {KAFKA_SOURCE}": f"--jars {','.join(map(str, source_jars().glob('*.jar')))}",
    }
    blocks = _BLOCK.findall(_section())
    scripts = [block for language, block in blocks if language == "bash"]
    for name, replacement in changes.items():
        scripts = [script.replace(name, replacement) for script in scripts]
    (folder / "bring_back.py").write_text(dict(blocks)["python"])
    return [_output(script, folder) for script in scripts]


def _output(script: str, folder: Path) -> str:
    variables = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    provide_java(variables)
    bash = ["bash", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(
        bash, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def _written(records: list[OracleRecord]) -> list[ConsumedRecord]:
    """Return what a consumer must get where these records were written to an empty partition."""
    return [
        ConsumedRecord(place, record.key, record.value, record.headers)
        for place, record in enumerate(records)
    ]


def test_topic_has_the_committed_records_and_its_group_reads_on_where_it_stood(
    tmp_path: Path, new_cluster: Broker
) -> None:
    changes = {"orders": "tx-a", "billing": "group-1"}
    created, *_ = _brought_back("06_transactions", "live", tmp_path, new_cluster, changes)
    assert "tx-a: 352 records, 0 lacking, 0 too many" in created
    committed = {38: 0, 30: 1, 11: 2}  # as Kafka's dump tool has them
    found = consumed(new_cluster.bootstrap, "tx-a", tmp_path)
    read_on = consumed(new_cluster.bootstrap, "tx-a", tmp_path, group="group-1")
    for next_offset, partition in committed.items():
        expected = expected_records(
            "06_transactions", "live", "tx-a", partition, Isolation.READ_COMMITTED
        )
        assert found[partition] == _written(expected)
        passed = sum(record.offset < next_offset for record in expected)
        assert read_on[partition] == _written(expected)[passed:]


@pytest.mark.parametrize(("topic", "partitions"), [("v2-none", 2), ("v2-large", 1)])
def test_headers_nulls_times_and_large_values_come_along(
    tmp_path: Path, new_cluster: Broker, topic: str, partitions: int
) -> None:
    (with_times,) = re.findall(r"`(list_append.*? AS headers)`", _section())
    changes = {
        ", headers FROM": f", {with_times} FROM",
        "orders": topic,
        "--partitions 3": f"--partitions {partitions}",
        "retention.ms=604800000": "max.message.bytes=8388608",
    }
    _brought_back("03_v2_codecs", "stopped", tmp_path, new_cluster, changes)
    found = consumed(new_cluster.bootstrap, topic, tmp_path)
    for partition in range(partitions):
        expected = expected_records("03_v2_codecs", "stopped", topic, partition)
        timed = [
            record._replace(
                headers=(*record.headers, ("timestamp", str(record.timestamp_ms).encode()))
            )
            for record in expected
        ]
        assert found[partition] == _written(timed)
