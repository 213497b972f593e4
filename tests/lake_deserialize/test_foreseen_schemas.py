"""Topics with tables are decoded without a survey, with the same outcome."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.pipelines.lake_deserialize import deserialize, topic_surveys
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_decoding.tasks import SurveyTask, survey
from support.lakes import ingested
from support.typed_disk import Pair, schema_pair, write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import table_rows, typed_names, typed_rows

_OF_A_RUN = {"_run_id", "run_id", "attempt_id", "added_at", "committed_at"}
_TEXTS = [None, b"bad", b"\0\0\0\0\x09\x02"]  # a tombstone, no frame, an id that no schema has


def _framed(schema_id: int, body: bytes) -> bytes:
    return schema_id.to_bytes(5, "big") + body


def _record(*fields: tuple[str, str]) -> str:
    found = [{"name": name, "type": kind} for name, kind in fields]
    return json.dumps({"type": "record", "name": "R", "fields": found})


_ONE, _TWO = _framed(1, b"\x02"), _framed(2, b"\x04\x02x")
_OWN = schema_pair("t-value", 1, 1, schema=_record(("a", "int")))
_OTHER = schema_pair("other-value", 1, 2, schema=_record(("a", "int"), ("b", "string")))
_LATER = schema_pair("t-value", 2, 2, schema=_record(("a", "int"), ("b", "string")))
_PROTOBUF = schema_pair(
    "t-value",
    1,
    1,
    schemaType="PROTOBUF",
    schema='syntax = "proto3"; message M { int32 a = 1; } message N { int32 b = 1; }',
)
_M, _N = _framed(1, b"\x00\x08\x01"), _framed(1, b"\x02\x02\x08\x01")


def _content(lake: Path) -> dict[str, list[str]]:
    """All tables of values, without what each run makes anew."""
    found = {name: typed_rows(lake, name) for name in typed_names(lake, "t")}
    for name in ("value_rejects", "typed_columns", "typed_checkpoints"):
        found[name] = table_rows(lake, name)
    return {
        name: sorted(str({k: v for k, v in row.items() if k not in _OF_A_RUN}) for row in rows)
        for name, rows in found.items()
    }


def _surveys_of_run(lake: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Decode the topic, and return how many files were surveyed."""
    found = []

    def spy(task: SurveyTask) -> dict[str, FormEvidence]:
        found.append(task)
        return survey(task)

    with monkeypatch.context() as patched:
        patched.setattr(topic_surveys, "survey", spy)
        decoded(lake, "t")
    return len(found)


def _surveys(
    folder: Path,
    registries: Sequence[Sequence[Pair]],
    values: Sequence[Sequence[bytes | None]],
    monkeypatch: pytest.MonkeyPatch,
    keys: Sequence[bytes] = (),
) -> tuple[Path, int]:
    """Decode the first values, then all others; return the lake and how often the latter surveyed.

    Each list of values is a file of `records`; the second registry comes after the first run.
    """
    lake = folder / "lake"
    ingested(write_registry(folder / "registry-0", [(0, registries[0])]), lake)
    add_values(lake, folder / "0", *values[0], keys=keys)
    decoded(lake, "t")
    for number, more in enumerate(registries[1:], start=1):
        batches = [(0, registries[0]), (0, more)]
        ingested(write_registry(folder / f"registry-{number}", batches), lake)
    start = len(values[0])
    for number, some in enumerate(values[1:], start=1):
        add_values(lake, folder / str(number), *some, start=start, keys=keys)
        start += len(some)
    return lake, _surveys_of_run(lake, monkeypatch)


@pytest.mark.parametrize(
    ("registries", "later", "surveys"),
    [
        ([[_OWN]], [[_ONE, *_TEXTS]], 0),
        ([[_OWN, _OTHER]], [[_ONE], [_ONE, _TWO], [_TWO, *_TEXTS]], 3),
        ([[_OWN, _OTHER]], [[_ONE], [_ONE]], 0),
        ([[_OWN], [_LATER]], [[_ONE, _TWO]], 1),
        ([[_PROTOBUF]], [[_M, *_TEXTS]], 0),
        ([[_PROTOBUF]], [[_M, _N]], 1),
    ],
    ids=["own", "other subject", "other subject unused", "later schema", "message", "messages"],
)
def test_the_outcome_is_that_of_a_survey(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    registries: Sequence[Sequence[Pair]],
    later: Sequence[Sequence[bytes | None]],
    surveys: int,
) -> None:
    first = _M if registries[0][0] is _PROTOBUF else _ONE
    values = [[first, *_TEXTS], *later]
    lake, count = _surveys(tmp_path / "foreseen", registries, values, monkeypatch)
    monkeypatch.setattr(deserialize, "may_be_foreseen", lambda facts: False)
    other, _ = _surveys(tmp_path / "surveyed", registries, values, monkeypatch)
    assert _content(lake) == _content(other)
    assert count == surveys
    for name in typed_names(lake, "t"):
        files = {path.name for path in (lake / "typed" / name).rglob("*.parquet")}
        assert files == {Path(uri).name for uri in DeltaTable(lake / "typed" / name).file_uris()}


@pytest.mark.parametrize(("key", "surveys"), [(_framed(3, b"\x04"), 0), (_TWO, 1)])
def test_keys_are_foreseen_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes, surveys: int
) -> None:
    registry = [_OWN, _OTHER, schema_pair("t-key", 1, 3)]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, registry)]), lake)
    add_values(lake, tmp_path / "0", _ONE, keys=[_framed(3, b"\x02")])
    decoded(lake, "t")
    add_values(lake, tmp_path / "1", _ONE, keys=[key], start=1)
    assert _surveys_of_run(lake, monkeypatch) == surveys
    assert [row["_key"] for row in typed_rows(lake, "t")] == [1, 2 if surveys == 0 else None]
