"""Lines of JSON: whatever bytes a record has come back from a parser."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.lake.tables import HEADERS_TYPE
from seglake.pipelines.record_print.json_lines import json_lines
from support.printed import printed_record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HARD = ["", '"', "\\", '\\"', "\\u0000", "\x00", "\n\r\t\x1f", "\x7f", "\u2028", "größe", "😀"]
_PAYLOADS = st.one_of(
    st.none(),
    st.binary(max_size=12),
    st.text(max_size=12).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([text.encode() for text in _HARD]),
)
_NAMES = st.one_of(st.text(st.characters(codec="utf-8"), max_size=6), st.sampled_from(_HARD))
_HEADERS = st.one_of(st.none(), st.lists(st.tuples(_NAMES, _PAYLOADS), max_size=3))
_TIMES = st.one_of(st.none(), st.just(-1), st.integers(-62_135_596_800_000, 253_402_300_799_999))
_RECORDS = st.lists(st.tuples(_PAYLOADS, _PAYLOADS, _HEADERS, _TIMES), min_size=1, max_size=8)
Record = tuple[
    bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, int | None
]  # key, value, headers, time


def _rows(records: list[Record], topic: str = "orders") -> pa.RecordBatch:
    keys, values, headers, times = zip(*records, strict=True)
    pairs = [
        None if several is None else [{"key": name, "value": value} for name, value in several]
        for several in headers
    ]
    moments = [
        None if time_ms in (None, -1) else _EPOCH + timedelta(milliseconds=time_ms)
        for time_ms in times
    ]
    return pa.record_batch(
        {
            "topic": pa.array([topic] * len(records)),
            "partition": pa.array([3] * len(records), pa.int32()),
            "offset": pa.array(range(2**62, 2**62 + len(records)), pa.int64()),
            "timestamp": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "timestamp_ms": pa.array(times, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array(pairs, HEADERS_TYPE),
        }
    )


def _lines(records: list[Record]) -> list[str]:
    lines: list[str] = json_lines(_rows(records)).to_pylist()
    return lines


@given(_RECORDS)
def test_every_byte_comes_back(records: list[Record]) -> None:
    lines = _lines(records)
    assert all(line.endswith("}\n") and line.count("\n") == 1 for line in lines)
    for index, (line, record) in enumerate(zip(lines, records, strict=True)):
        key, value, headers, time_ms = record
        found = printed_record(json.loads(line))
        assert (found.offset, found.key, found.value) == (2**62 + index, key, value)
        assert [*found.headers] == (headers or [])
        assert json.loads(line)["timestamp_ms"] == time_ms


@given(_RECORDS)
def test_a_slice_has_the_lines_of_its_rows(records: list[Record]) -> None:
    whole = _lines(records)
    for start in range(len(records)):
        lines = json_lines(_rows(records).slice(start, 2)).to_pylist()
        first = [json.loads(line) for line in lines]
        assert first == [json.loads(line) for line in whole[start : start + 2]]


def test_fields_stand_in_order_and_have_one_form() -> None:
    records: list[Record] = [
        (b"k", b'{"a": "b"}', [("h", b"1"), ("h", None)], 1_700_000_000_123),
        (None, b"\xff\x00", None, None),
    ]
    assert _lines(records) == [
        '{"topic":"orders","partition":3,"offset":4611686018427387904,'
        '"timestamp":"2023-11-14T22:13:20.123Z","timestamp_ms":1700000000123,'
        '"key":"k","value":"{\\"a\\": \\"b\\"}",'
        '"headers":[{"key":"h","value":"1"},{"key":"h","value":null}]}\n',
        '{"topic":"orders","partition":3,"offset":4611686018427387905,'
        '"timestamp":null,"timestamp_ms":null,'
        '"key":null,"value_base64":"/wA=","headers":[]}\n',
    ]


@pytest.mark.parametrize("time_ms", [-62_135_596_800_000, -1001, 0, 253_402_300_799_999])
def test_times_are_those_of_python(time_ms: int) -> None:
    (line,) = _lines([(None, None, None, time_ms)])
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    assert datetime.fromisoformat(json.loads(line)["timestamp"]) == moment


def test_a_strange_topic_is_quoted() -> None:
    (line,) = json_lines(_rows([(None, None, None, 0)], topic='a"\\é')).to_pylist()
    assert json.loads(line)["topic"] == 'a"\\é'
