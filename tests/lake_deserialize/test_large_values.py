"""Values whose columns need much memory are decoded in parts, or rejected."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seglake.value_codec.avro import value_reader
from seglake.value_codec.json import value_reader as json_reader
from seglake.value_decoding import decoded_parts
from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import ID_1, add_values, decoded
from support.typed_rows import table_rows, typed_rows

_FIELDS = [{"name": f"f{number}", "type": "string"} for number in range(200)]
_ITEM = {"type": "record", "name": "P", "fields": _FIELDS}
_SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "a", "type": {"type": "array", "items": ["null", _ITEM]}}],
}
_FEW = ID_1 + b"\x02\x00\x00"
_MANY = ID_1 + b"\x90\x4e" + b"\x00" * 5000 + b"\x00"  # 5,000 nulls, 16 MB of columns


@pytest.mark.parametrize(
    ("most_bytes", "sizes"), [(20_000_000, [1, 5000, 1, *[5000] * 5]), (10**7, [1, 1])]
)
def test_rows_are_the_same_in_parts_and_a_value_that_is_too_large_is_rejected(
    most_bytes: int, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    pair = schema_pair("t-value", 1, 1, schema=json.dumps(_SCHEMA))
    ingested(write_registry(tmp_path / "registry", [(0, [pair])]), lake)
    add_values(lake, tmp_path / "values", _FEW, _MANY, _FEW, *[_MANY] * 5)
    monkeypatch.setattr(value_reader, "_WORDS_AT_ONCE", 1)  # little room
    monkeypatch.setattr(value_reader, "MOST_BYTES", most_bytes)
    summary = decoded(lake, "t")
    assert not summary.left_out
    assert [len(row["a"]) for row in typed_rows(lake, "t")] == sizes
    rejects = table_rows(lake, "value_rejects")
    assert [(row["offset"], row["reason"]) for row in rejects] == [
        (offset, "too_large") for offset in (1, *range(3, 8)) if len(sizes) == 2
    ]
    [file] = (lake / "typed" / "t").rglob("*.parquet")
    assert pq.ParquetFile(file).num_row_groups > 1 or len(sizes) == 2


@pytest.mark.parametrize(
    ("most_bytes", "sizes"), [(20_000_000, [1, 5000, 1, 5000]), (8_000_000, [1, 1])]
)
def test_json_is_decoded_in_parts_and_a_value_that_is_too_large_is_rejected(
    most_bytes: int, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    wide = json.dumps({f"f{number}": number for number in range(200)})
    few, many = f'{{"a":[{wide}]}}'.encode(), f'{{"a":[{wide}{",{}" * 4999}]}}'.encode()
    add_values(lake, tmp_path / "values", few, many, few, many)
    monkeypatch.setattr(json_reader, "MOST_BYTES", most_bytes)
    assert not decoded(lake, "t").left_out
    assert [len(row["a"]) for row in typed_rows(lake, "t")] == sizes
    rejects = table_rows(lake, "value_rejects")
    assert [(row["offset"], row["reason"], row["position"]) for row in rejects] == [
        (offset, "too_large", 0) for offset in (1, 3) if len(sizes) == 2
    ]


@pytest.mark.parametrize(
    ("most_bytes", "sizes"), [(20_000_000, [1, 5000, 1, 5000]), (8_000_000, [1, 1])]
)
def test_columns_of_other_schemas_count_too(
    most_bytes: int, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each item gets null in the 200 columns that another schema has."""
    lake = tmp_path / "lake"
    items = {**_ITEM, "fields": [{"name": "f0", "type": "string"}]}
    narrow = {**_SCHEMA, "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    pairs = [
        schema_pair("t-value", number, number, schema=json.dumps(schema))
        for number, schema in ((1, narrow), (2, _SCHEMA))
    ]
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    few, many = ID_1 + b"\x02\x00\x00", ID_1 + b"\x90\x4e" + b"\x00" * 5001
    add_values(lake, tmp_path / "values", few, many, few, many)
    monkeypatch.setattr(decoded_parts, "MOST_BYTES", most_bytes // 2)
    assert not decoded(lake, "t").left_out
    assert [len(row["a"]) for row in typed_rows(lake, "t")] == sizes
    rejects = table_rows(lake, "value_rejects")
    assert [(row["offset"], row["reason"], row["position"]) for row in rejects] == [
        (offset, "too_large", 5) for offset in (1, 3) if len(sizes) == 2
    ]
