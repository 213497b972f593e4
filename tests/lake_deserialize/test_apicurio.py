"""Values that Apicurio's serializers wrote decode with the versions of a file."""

import json
from pathlib import Path

import pytest

from seglake.errors import ExitCode
from support.encoder import Partition, Record, Segment, record_batch
from support.lakes import ingested
from support.made_logs import FIRST_MS, write_over
from support.typed_lakes import decoded
from support.typed_rows import table_rows, typed_rows

_ID = 9
_HEADER_NAMES = ["apicurio.value.globalId", "apicurio.value.contentId"]


def lake_of(tmp_path: Path, *records: Record) -> tuple[Path, str]:
    """A lake without a registry, and a file with a version of Apicurio's."""
    lake, versions = tmp_path / "lake", tmp_path / "versions.json"
    log = Partition("t", 0, [Segment(0, [record_batch(0, records)])])
    ingested(write_over(tmp_path / "disk", [log], broker_id=0, cluster_id="c"), lake)
    item = {"artifactId": "a", "version": "1", "artifactType": "AVRO", "content": '"int"'}
    versions.write_text(json.dumps([{**item, "contentId": _ID}]), "utf-8")
    return lake, str(versions)


def rows(lake: Path) -> list[tuple[object, object]]:
    return [(row["value"], row["_schema_id"]) for row in typed_rows(lake, "t")]


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_ids_of_4_and_of_8_bytes_stand_before_the_body(tmp_path: Path, id_bytes: int) -> None:
    frame, lost = (b"\0" + number.to_bytes(id_bytes, "big") for number in (_ID, 8))
    values = [frame + b"\x02", frame + b"\x04", lost + b"\x02", frame, b"no"]
    records = [Record(b"k", value, FIRST_MS + n) for n, value in enumerate(values)]
    lake, versions = lake_of(tmp_path, *records)
    assert decoded(lake, schemas=versions).exit_code is ExitCode.LOOK
    assert rows(lake) == [(1, _ID), (2, _ID)]
    found = {
        row["offset"]: (row["reason"], row["position"]) for row in table_rows(lake, "value_rejects")
    }
    assert found == {2: ("unknown_schema_id", 1), 3: ("short", 1 + id_bytes), 4: ("no_frame", 0)}


@pytest.mark.parametrize("name", _HEADER_NAMES)
def test_ids_stand_in_headers(tmp_path: Path, name: str) -> None:
    ids = [_ID.to_bytes(8, "big"), (1 << 40).to_bytes(8, "big"), b"", (8).to_bytes(8, "big")]
    records = [
        Record(b"k", b"\x06", FIRST_MS + n, headers=((name, header),))
        for n, header in enumerate(ids)
    ]
    lake, versions = lake_of(tmp_path, *records)
    decoded(lake, schemas=versions)
    assert rows(lake) == [(3, _ID)]
    found = {row["offset"]: row["reason"] for row in table_rows(lake, "value_rejects")}
    assert found == {1: "unknown_schema_id", 2: "no_frame", 3: "unknown_schema_id"}
