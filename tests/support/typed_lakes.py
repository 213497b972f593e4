"""Lakes with a topic of Avro values, made for a test, and runs of `deserialize` on them."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seglake.lake.commit_protocol import no_hook
from seglake.pipelines.lake_deserialize.deserialize import deserialize
from seglake.pipelines.lake_deserialize.deserialize_choice import (
    ONLY_NEW,
    Again,
    DeserializeChoice,
)
from seglake.pipelines.lake_deserialize.deserialize_summary import DeserializeSummary
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import (
    LimitsSettings,
    SelectSettings,
    Settings,
    ValuesSettings,
)
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine, LocalEngine
from support.encoder import Header, Partition, Record, Segment, record_batch
from support.lakes import ingested
from support.made_logs import FIRST_MS, write_over
from support.typed_disk import schema_pair, write_registry

SILENT = RunReporter(io.StringIO(), verbosity=-1)
ID_1 = b"\x00\x00\x00\x00\x01"


def decoded(
    lake: Path,
    *topics: str,
    engine: Engine | None = None,
    again: Again = ONLY_NEW,
    limits: LimitsSettings | None = None,
    after: Callable[[str], None] = no_hook,
    schemas: str | None = None,
    subjects: Mapping[str, str] | None = None,
) -> DeserializeSummary:
    """Run `deserialize` on a lake."""

    values = ValuesSettings(tuple((subjects or {}).items()))
    settings = replace(Settings(), select=SelectSettings(topics=topics), values=values)
    if limits is not None:
        settings = replace(settings, limits=limits)
    with RunReporter(io.StringIO(), verbosity=-1) as reporter:
        return deserialize(
            str(lake),
            LocalStorage(),
            engine or LocalEngine(1),
            reporter,
            settings,
            choice=DeserializeChoice(topic="_schemas", schemas=schemas, again=again),
            after=after,
        )


def made(tmp_path: Path, *values: bytes | None, start: int = 0) -> Path:
    """A lake with a topic `t` whose values have the schema of id 1, an int."""
    lake = tmp_path / "lake"
    registry = write_registry(tmp_path / "registry", [(0, [schema_pair("t-value", 1, 1)])])
    ingested(registry, lake)
    add_values(lake, tmp_path / f"from-{start}", *values, start=start)
    return lake


def add_schemas(lake: Path, folder: Path, *schemas: str) -> None:
    """Ingest more of the registry, with schemas of the ids 2, 3 and so on."""
    pairs = [
        schema_pair("t-value", number, number, schema=schema)
        for number, schema in enumerate(schemas, start=2)
    ]
    batches = [(0, [schema_pair("t-value", 1, 1)]), (0, pairs)]
    ingested(write_registry(folder, batches), lake)


def add_values(
    lake: Path,
    folder: Path,
    *values: bytes | None,
    start: int = 0,
    keys: Sequence[bytes] = (),
) -> None:
    """Ingest more of the topic's log."""
    records = [
        Record(keys[number] if keys else b"k", value, FIRST_MS + number)
        for number, value in enumerate(values)
    ]
    log = Partition("t", 0, [Segment(start, [record_batch(start, records)])])
    ingested(write_over(folder, [log], broker_id=0, cluster_id="c"), lake)


def elected_disk(folder: Path, *leaders: tuple[int, list[bytes | None]], broker_id: int) -> Path:
    """A broker's disk with a log of the topic: the values that each leader epoch wrote."""
    batches, epochs, offset = [], [], 0
    for epoch, values in leaders:
        epochs.append((epoch, offset))
        for value in values:
            record = Record(b"k", value, FIRST_MS + offset)
            batches.append(record_batch(offset, [record], Header(leader_epoch=epoch)))
            offset += 1
    log = Partition("t", 0, [Segment(0, batches)], leader_epochs=tuple(epochs))
    return write_over(folder, [log], broker_id=broker_id, cluster_id="c")


def int_of(number: int) -> bytes:
    """The frame of a small number, by the schema of id 1."""
    return ID_1 + bytes([number * 2])


def elected_lake(tmp_path: Path) -> tuple[Path, Path]:
    """A lake with the rows 1, 2 and a reject, of which the last two lost an election.

    Returns the lake, and the winner's disk, which has 1, 5 and 6.
    """
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, [schema_pair("t-value", 1, 1)])]), lake)
    loser = elected_disk(tmp_path / "loser", (1, [int_of(1), int_of(2), b"bad"]), broker_id=0)
    ingested(loser, lake)
    decoded(lake, "t")
    winner = elected_disk(
        tmp_path / "winner", (1, [int_of(1)]), (3, [int_of(5), int_of(6)]), broker_id=1
    )
    ingested(winner, lake)
    return lake, winner
