"""One value, one text, whatever engine it came from."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from seglake.pipelines.lake_query.value_texts import csv_text, json_text, printed_text, width

_TIME = datetime(2026, 11, 1, 12, 0, 0, 120000, tzinfo=UTC)
_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@pytest.mark.parametrize(
    ("kind", "value", "as_json", "as_csv", "printed"),
    [
        (pa.int64(), 2**62, "4611686018427387904", "4611686018427387904", "4611686018427387904"),
        (pa.string(), None, "null", "", "NULL"),
        (pa.string(), "", '""', "", ""),
        (pa.string(), 'a"\n\x1b[31mé', '"a\\"\\n\\u001b[31mé"', 'a"\n\x1b[31mé', 'a"\\n\\x1b[31mé'),
        (pa.binary(), b"\x00\xff", '"AP8="', "AP8=", "\\x00\\xFF"),
        (pa.binary(), "日本".encode(), '"5pel5pys"', "5pel5pys", "日本"),
        (pa.bool_(), True, "true", "true", "true"),
        (pa.float64(), 1.5, "1.5", "1.5", "1.5"),
        (pa.float64(), float("-inf"), '"-Infinity"', "-Infinity", "-Infinity"),
        (pa.float64(), float("nan"), '"NaN"', "NaN", "NaN"),
        (pa.date32(), date(2026, 11, 1), '"2026-11-01"', "2026-11-01", "2026-11-01"),
        (
            pa.decimal128(38, 2),
            Decimal("12345678901234567890123456.10"),
            *("12345678901234567890123456.10",) * 3,
        ),
        (
            pa.timestamp("us", "UTC"),
            _TIME,
            '"2026-11-01T12:00:00.120000Z"',
            "2026-11-01T12:00:00.120000Z",
            "2026-11-01 12:00:00.12",
        ),
        (
            pa.timestamp("us"),
            datetime(2026, 11, 1, 12),  # noqa: DTZ001  (a time without a zone)
            '"2026-11-01T12:00:00.000000"',
            "2026-11-01T12:00:00.000000",
            "2026-11-01 12:00:00",
        ),
        (
            _HEADERS,
            [{"key": "a", "value": b"x"}, {"key": "b", "value": None}],
            *('[{"key":"a","value":"eA=="},{"key":"b","value":null}]',) * 3,
        ),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)], *('{"a":1}',) * 3),
        (pa.null(), None, "null", "", "NULL"),
    ],
    ids=str,
)
def test_value_is_written_as_its_type_says(
    kind: pa.DataType, value: object, as_json: str, as_csv: str, printed: str
) -> None:
    assert json_text(kind)(value) == as_json
    assert csv_text(kind)(value) == as_csv
    assert printed_text(kind)(value) == printed
    json.loads(as_json)


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    assert [width(text) for text in ("ab", "日本", "e\u0301")] == [2, 4, 1]
