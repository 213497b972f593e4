"""A dead disk whose bits have flipped: what its damaged batches still hold is salvaged, apart."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import seglake
from seglake.cli import ingest_command, replay_command
from seglake.task_engine.engine import Engine
from support.encoder import (
    Codec,
    EncodedBatch,
    Partition,
    Record,
    Segment,
    message,
    record_batch,
    wrapper,
)
from support.lakes import ingested, read_table, replayed
from support.made_logs import FIRST_MS, write_over
from support.views import viewed

TOPIC = "old"
VALUES = [b"value %d" % offset for offset in range(21)]


def record(offset: int) -> Record:
    return Record(b"k", VALUES[offset], FIRST_MS + offset)


def records(first: int, count: int) -> list[Record]:
    return [record(offset) for offset in range(first, first + count)]


def log() -> list[tuple[EncodedBatch, int | None]]:
    """Batches of all formats, and of the damaged ones which byte is; sound ones stand between."""
    return [
        (message(0, record(0), 0), None),
        (message(1, record(1), 0), 15),
        (message(2, record(2), 1), None),
        (message(3, record(3), 1), -1),
        (wrapper(4, records(4, 3), 1, Codec.SNAPPY), 14),
        (record_batch(7, records(7, 2)), None),
        (record_batch(9, records(9, 3)), -2),
        (record_batch(12, records(12, 3), codec=Codec.ZSTD), 18),
        (record_batch(15, records(15, 3), codec=Codec.LZ4), 20),
        (record_batch(18, records(18, 3)), None),
    ]


SALVAGED = [1, 3, 4, 5, 6, *range(9, 18)]
# The last byte of the message, and of the last record but for its header count.
CHANGED = {3: b"value 2", 11: b"value 10"}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    batches = []
    for batch, place in log():
        content = bytearray(batch.data)
        if place is not None:
            content[place] ^= 1
        batches.append(batch._replace(data=bytes(content)))
    end = len(VALUES)
    partition = Partition(TOPIC, 0, [Segment(0, batches)], high_watermark=end)
    return write_over(tmp_path / "disk", [partition])


def values(lake: Path) -> dict[int, bytes]:
    return {row["offset"]: row["value"] for row in read_table(lake, "salvaged_records")}


def test_batches_of_all_formats_are_salvaged(engine: Engine, disk: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(disk, lake, engine=engine, read={"salvage": True})
    assert values(lake) == {offset: CHANGED.get(offset, VALUES[offset]) for offset in SALVAGED}
    kept = sorted(row["offset"] for row in read_table(lake, "records"))
    assert kept == sorted({*range(len(VALUES))} - {*SALVAGED})
    damaged = viewed(
        lake,
        'SELECT "offset", damage, damage_field FROM current_salvaged_records WHERE is_damaged'
        ' ORDER BY "offset"',
    )
    assert [(row["offset"], row["damage"], row["damage_field"]) for row in damaged] == [
        (offset, "single_bit", "value") for offset in CHANGED
    ]


def answered(main: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    command, *arguments = main
    run = {"ingest": ingest_command.main, "replay": replay_command.main}[command]
    assert run([*arguments, "--engine", "local", "--json"]) in (0, 3)
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def test_dry_run_counts_what_it_would_salvage(disk: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(disk, lake)
    planned = replayed(lake, dry_run=True, read={"salvage": True})
    assert (planned.notes, planned.nothing_salvaged) == ([], [])
    assert planned.salvaged.planned_batches == {f"{TOPIC}-0": 6}
    assert "would be decoded from quarantine: 6 quarantined batches" in planned.to_text()
    ingest = ingested(disk, lake, dry_run=True, read={"salvage": True})
    assert ingest.salvaged == planned.salvaged
    assert json.loads(ingest.to_json())["salvaged"]["planned_batches"] == {f"{TOPIC}-0": 6}
    assert values(lake) == {}
    done = replayed(lake, read={"salvage": True}).salvaged
    assert (done.batches, done.refused) == (planned.salvaged.planned_batches, {})
    after = replayed(lake, dry_run=True, read={"salvage": True})
    assert after.salvaged.planned_batches == {}


def test_both_commands_and_the_python_api_salvage_when_asked(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    place = ["--source", str(disk), "--lake", str(one)]
    answer = answered(["ingest", *place, "--salvage"], capsys)
    assert answer["salvaged"] == {
        "records": {f"{TOPIC}-0": len(SALVAGED)},
        "batches": {f"{TOPIC}-0": 6},
        "refused": {},
        "cut_batches": 0,
        "planned_batches": {},
    }
    plain = answered(["ingest", "--source", str(disk), "--lake", str(two)], capsys)
    nothing = {"records": {}, "batches": {}, "refused": {}, "cut_batches": 0, "planned_batches": {}}
    assert (plain["salvaged"], values(two)) == (nothing, {})
    answered(["replay", "--lake", str(two), "--salvage"], capsys)
    summary = seglake.ingest(disk, three, engine="local", salvage=True)
    assert sum(summary.salvaged.records.values()) == len(SALVAGED)
    assert values(one) == values(two) == values(three)
