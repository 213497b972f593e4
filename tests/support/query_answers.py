"""Answers to the questions of docs/query.md: what they must be, and those of any reader likened."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from support.oracle import LargeValue, expected_records

TOPIC = "v2-zstd"
_DAMAGED = {1: range(53, 72)}  # samples/README.md
_CAUSES = (
    *("compacted", "deleted", "marker", "deleted_or_lost", "remote"),
    *("undecided", "quarantined", "missing"),
)
_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = Mapping[str, object]
Likened = list[dict[str, object]]


class Answers(NamedTuple):
    """The rows of each question, in its order."""

    last_offsets: Likened
    records: Likened
    quarantined: Likened
    completeness: Likened
    latest: Likened


def likened(rows: Iterable[Row]) -> Likened:
    """Rows with their times as milliseconds, whatever a reader made of them."""
    return [
        {name: _time_ms(value) if name == "timestamp" else value for name, value in row.items()}
        for row in rows
    ]


def _time_ms(value: object) -> int | None:
    """Return the milliseconds of a datetime or its text; a time without a zone is UTC."""
    if value is None:
        return None
    time = value if isinstance(value, datetime) else datetime.fromisoformat(_iso(str(value)))
    return (time.replace(tzinfo=time.tzinfo or UTC) - _EPOCH) // _MS


def _iso(text: str) -> str:
    return f"{text}:00" if text.endswith("+00") else text.replace(" UTC", "+00:00")


def expected() -> Answers:
    """Return the right answers for the sample disk, by Kafka's consumer and samples/README.md."""
    records = [row for partition in (0, 1) for row in _records(partition)]
    return Answers(
        [_picked(row, "topic", "partition", "next_offset") for row in _PARTITIONS],
        [_shown(row) for row in records],
        [dict(zip(_DAMAGE_COLUMNS, row, strict=True)) for row in _DAMAGE],
        [_sums(row) for row in _PARTITIONS],
        _latest(records),
    )


# Records that were aborted, markers, and the offsets that damage took. An aborted transaction of
# two records has a marker: three offsets in batches that are no records.
_NAMES = ("topic", "partition", "next_offset", "records", "in_batches", "quarantined", "left_above")
_PARTITIONS: Sequence[Row] = [
    dict(zip(_NAMES, row, strict=True))
    for row in (
        ("tx-a", 0, 102, 89, 13, 0, 26),
        ("tx-a", 1, 182, 110, 72, 0, 0),
        ("tx-a", 2, 158, 153, 5, 0, 0),
        ("v0-gzip", 0, 391, 391, 0, 0, 0),
        ("v0-gzip", 1, 220, 220, 0, 0, 0),
        ("v1-snappy-ct", 0, 210, 210, 0, 0, 0),
        ("v2-lz4", 0, 186, 186, 0, 0, 0),
        ("v2-none", 1, 267, 264, 0, 3, 0),
        ("v2-zstd", 0, 208, 208, 0, 0, 0),
        ("v2-zstd", 1, 258, 239, 0, 19, 0),
    )
]
_DAMAGE_COLUMNS = (
    "topic",
    "partition",
    "broker_id",
    "segment",
    "position",
    "length_bytes",
    "defect_code",
    "defect_detail",
    "resolution",
)
_DAMAGE = (
    (
        "v2-none",
        1,
        0,
        "v2-none-1/00000000000000000117.log",
        2862,
        424,
        "bad_length",
        "the length field states 2147483647, 7466 bytes remain; the next valid batch begins 424"
        " bytes later",
        None,
    ),
    (
        "v2-zstd",
        1,
        0,
        "v2-zstd-1/00000000000000000000.log",
        2879,
        1117,
        "crc_mismatch",
        "the checksum is 0x015c7677, the header states 0x7b986cca",
        None,
    ),
)


def _sums(row: Row) -> dict[str, object]:
    sums = dict.fromkeys(("topic", "partition", "covered", "records", "in_batches", *_CAUSES), 0)
    return {**sums, "covered": row["next_offset"], **_without(row, "next_offset")}


def _records(partition: int) -> Iterable[dict[str, object]]:
    for record in expected_records("03_v2_codecs", "stopped", TOPIC, partition):
        assert not isinstance(record.value, LargeValue)
        if record.offset not in _DAMAGED.get(partition, ()):
            yield {
                "partition": partition,
                "offset": record.offset,
                "timestamp": record.timestamp_ms,
                "key": record.key,
                "value": record.value,
            }


def _shown(row: Row) -> dict[str, object]:
    key, value = _text_and_hex(row["key"]), _text_and_hex(row["value"])
    texts = {"key_text": key[0], "value_text": value[0]}
    return {
        **_without(row, "key", "value"),
        **texts,
        "key_hex": key[1],
        "value_hex": value[1],
    }


def _text_and_hex(content: object) -> tuple[str | None, str | None]:
    if not isinstance(content, bytes):
        return None, None
    try:
        return content.decode(), None
    except UnicodeDecodeError:
        return None, content.hex().upper()


def _latest(records: Iterable[dict[str, object]]) -> Likened:
    newest = {(row["partition"], row["key"]): row for row in records if row["key"] is not None}
    kept = [row for row in newest.values() if row["value"] is not None]
    kept.sort(key=lambda row: (row["partition"], row["offset"]))
    columns = ("partition", "key_text", "value_text", "offset", "timestamp")
    return [_picked(_shown(row), *columns) for row in kept]


def _picked(row: Row, *names: str) -> dict[str, object]:
    return {name: row[name] for name in names}


def _without(row: Row, *names: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}
