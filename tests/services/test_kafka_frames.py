"""What the tests say of Kafka's consumer and compressed frames, asked of the consumer itself."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from support import frames
from support.encoder import EncodedBatch
from support.servers.maven_jars import maven_jars

_FRAMES = Path(__file__).parents[1] / "support" / "frames"
_READER = "org.apache.kafka.clients.consumer.internals.FrameReader"
_ARTIFACTS = ("org.apache.kafka:kafka-clients:4.3.0", "org.slf4j:slf4j-nop:1.7.36")
_MISSING = [name for name in ("mvn", "java", "javac") if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_MISSING), reason=f"needs {_MISSING}, to run Kafka's consumer"),
]


def test_consumer_reads_and_throws_as_the_tests_say(tmp_path: Path) -> None:
    jars = f"{maven_jars('kafka-clients-4.3.0', _ARTIFACTS)}/*"
    compiler = ["javac", "-nowarn", "-cp", jars, "-d", str(tmp_path)]
    subprocess.run([*compiler, str(_FRAMES / "FrameReader.java")], check=True)
    expected = tomllib.loads((_FRAMES / "consumer.toml").read_text())
    found = {
        f"magic_{magic}": _consumed(f"{jars}:{tmp_path}", frames.framed_batches(magic))
        for magic in (2, 1, 0)
    }
    assert found == expected


def _consumed(class_path: str, batches: dict[str, EncodedBatch]) -> dict[str, str]:
    lines = "".join(f"{name} {batch.data.hex()}\n" for name, batch in batches.items())
    java = ["java", "-cp", class_path, _READER]
    said = subprocess.run(java, input=lines, capture_output=True, text=True, check=True).stdout
    answers = (line.split("\t") for line in said.splitlines())
    return {
        name: thrown or ("all" if int(count) == frames.RECORD_COUNT else count)
        for name, count, thrown in answers
    }
