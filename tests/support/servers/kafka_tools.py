"""Kafka's command-line tools as a distribution has them, and what its consumer gets of a topic."""

import base64
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.oracle import LargeValue, folded_value
from support.servers.maven_jars import maven_jars
from support.servers.processes import started

_ARTIFACTS = ("org.apache.kafka:kafka-tools:4.3.0",)
_READER = Path(__file__).with_name("ConsumedRecords.java")
_WRITER = Path(__file__).with_name("SteadyProducer.java")
_SCRIPTS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}


class ConsumedRecord(NamedTuple):
    """A record as Kafka's consumer got it; a large value is folded as the oracle's are."""

    offset: int
    key: bytes | None
    value: bytes | LargeValue | None
    headers: tuple[tuple[str, bytes | None], ...]


def add_scripts(folder: Path) -> None:
    """Write the tools' scripts into a folder, for a PATH."""
    for name, main_class in _SCRIPTS.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec java -cp "{_jars()}" {main_class} "$@"\n')
        script.chmod(0o755)


@contextmanager
def steadily_written(
    bootstrap: str, topic: str, folder: Path, *, partitions: int, kib_per_second: int
) -> Iterator[None]:
    """Create a topic of a broker with a tier, and write to it while the block runs.

    Every fourth transaction is aborted; none is open when the block ends.

    Args:
        folder: for the compiled program.
    """
    stop = folder / "stop-writing"
    java = ["java", "-cp", f"{_jars()}{os.pathsep}{_compiled(_WRITER, folder)}", _WRITER.stem]
    java += [bootstrap, topic, str(partitions), str(kib_per_second), str(stop)]
    with started(java, log=folder / "producer.out") as process:
        process.wait_for_text("writing")
        yield
        stop.touch()
        process.wait(seconds=60)


def consumed(
    bootstrap: str,
    topic: str,
    folder: Path,
    *,
    group: str | None = None,
    isolation: str = "read_uncommitted",
) -> dict[int, list[ConsumedRecord]]:
    """Return the records that a consumer gets up to the end, in its order, by partition.

    Args:
        folder: for the compiled program.
        group: reads on at its committed offsets, all of which must be there.
    """
    jars = _jars()
    _compiled(_READER, folder)
    java = ["java", f"-Disolation={isolation}", "-cp", f"{jars}{os.pathsep}{folder}"]
    java += [_READER.stem, bootstrap, topic]
    java += [] if group is None else [group]
    printed = subprocess.run(java, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[int, list[ConsumedRecord]] = defaultdict(list)
    for line in printed.splitlines():
        partition, offset, key, value, *headers = line.split("\t")
        pairs = zip(map(_bytes, headers[::2]), map(_bytes, headers[1::2]), strict=True)
        named = tuple(((name or b"").decode(), content) for name, content in pairs)
        record = ConsumedRecord(int(offset), _bytes(key), folded_value(_bytes(value)), named)
        found[int(partition)].append(record)
    return found


@cache
def _jars() -> str:
    return f"{maven_jars('kafka-tools-4.3.0', _ARTIFACTS)}/*"


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else base64.b64decode(text)


def _compiled(source: Path, folder: Path) -> Path:
    command = ["javac", "-nowarn", "-cp", _jars(), "-d", str(folder), str(source)]
    subprocess.run(command, check=True)
    return folder
