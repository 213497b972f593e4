"""Single values are read strictly, and errors name the key."""

import pickle
from datetime import date, datetime, timedelta, timezone

import pytest

from seglake.settings.settings import Settings
from seglake.settings.values import SettingsError


def one(key: str, value: object) -> Settings:
    section, _, name = key.partition(".")
    return Settings.from_mappings([("a.toml", {section: {name: value}})])


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("reed.isolation", "read_committed", "there is no such section"),
        ("read.isolatoin", "read_committed", "there is no such key; [read] has isolation,"),
        ("read.isolation", "serializable", "expected one of read_committed, read_uncommitted"),
        ("read.isolation", 1, "expected one of read_committed"),
        ("read.split_bytes", "5", 'or a size such as "64MiB" or "64MB", got \'5\''),
        ("read.split_bytes", "64mb", "expected a whole number of bytes, or a size"),
        ("read.split_bytes", "1.5GiB", "expected a whole number of bytes, or a size"),
        ("read.split_bytes", "-1MB", "expected a whole number of bytes, or a size"),
        ("read.split_bytes", True, 'or a size such as "64MiB" or "64MB", got True'),
        ("read.split_bytes", 1e6, "expected a whole number of bytes, or a size"),
        ("limits.local_processes", "4kB", "expected a whole number, got '4kB'"),
        ("limits.fail_on_quarantine", 1, "expected true or false, got 1"),
        ("select.topics", "orders", "expected a list of texts"),
        ("select.topics", [1], "expected a text in quotes, got 1"),
        ("source.source_id", 5, "expected a text in quotes, got 5"),
        ("source.source_id", "", "got an empty one"),
        ("source.source_id", "a/b", "may only have letters, digits, _ and -; got 'a/b'"),
        ("select.from_timestamp", "yesterday", "'yesterday' is not an ISO-8601 timestamp"),
        ("select.from_timestamp", 5, "expected an ISO-8601 timestamp, got 5"),
        ("spark.properties", {"a": 1}, "expected a text in quotes"),
        ("spark.properties", {"a": {"b": "c"}}, "put a name with dots in quotes"),
        ("select.to_timestamp", "9999-12-31T23:59:59-05:00", "outside the years 1 to 9999"),
        ("spark.properties", "a=1", "expected a table of texts"),
        ("spark.master", "", "got an empty one"),
        ("read.split_bytes", 0, "must be at least 1, got 0"),
        ("write.wave_bytes", "9999999TiB", "must be at most 9223372036854775807, got 10995"),
        ("read.window_bytes", 1, "must be at least 65536, got 1"),
        ("read.decoded_bytes", -1, "must be at least 1"),
        ("read.decoded_bytes", "513MiB", "must be at most 536870912"),
        ("limits.max_decompressed_batch_bytes", "2GiB", "must be at most 1073741824"),
        ("write.wave_bytes", 0, "must be at least 1"),
        ("write.target_file_bytes", 0, "must be at least 1"),
        ("write.compression_level", 23, "must be at most 22, got 23"),
        ("quarantine.max_raw_bytes", -1, "must be at least 0"),
        ("limits.max_decompressed_batch_bytes", 0, "must be at least 1"),
        ("limits.local_processes", -1, "must be at least 0"),
    ],
)
def test_refused_value_names_key_and_origin(key: str, value: object, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        one(key, value)
    assert key.startswith(caught.value.key.removesuffix(".a")) or caught.value.key == f"{key}.a"
    assert caught.value.origin == "a.toml"
    assert problem in str(caught.value)
    assert "(from a.toml)" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (5_000_000, 5_000_000),
        ("64MiB", 64 << 20),
        ("64 MiB", 64 << 20),
        ("64MB", 64_000_000),
        ("900kB", 900_000),
        ("900KiB", 900 << 10),
        ("1GB", 1_000_000_000),
        ("2GiB", 2 << 30),
        ("1TB", 10**12),
        ("1TiB", 1 << 40),
    ],
)
def test_size_is_a_number_of_bytes_or_has_a_unit(value: object, size_bytes: int) -> None:
    assert one("write.target_file_bytes", value).write.target_file_bytes == size_bytes


@pytest.mark.parametrize(
    ("key", "value", "near"),
    [
        ("reed.isolation", "read_committed", "there are source, select, read, write, quarantine"),
        ("reed.isolation", "read_committed", "; did you mean read"),
        ("read.isolatoin", "read_committed", "; did you mean read.isolation?"),
        ("limits.split_bytes", 5, "; did you mean read.split_bytes"),
        ("read.isolation", "read_commited", "; did you mean read_committed or read_uncommitted?"),
        ("read.upper_bound", "log-end", "; did you mean log_end?"),
    ],
)
def test_misspelled_key_or_choice_leads_to_near_ones(key: str, value: object, near: str) -> None:
    with pytest.raises(SettingsError) as caught:
        one(key, value)
    assert near in str(caught.value)


def test_key_without_its_section_leads_to_the_section() -> None:
    with pytest.raises(SettingsError, match=r"did you mean read\.isolation\?$"):
        Settings.from_mappings([("a.toml", {"isolation": "read_committed"})])


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T02:00:00+02:00",
        "2026-01-01 00:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1),  # noqa: DTZ001  # a local date-time of TOML has no zone
        datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_timestamp_becomes_utc_milliseconds(value: object) -> None:
    assert one("select.from_timestamp", value).select.from_timestamp_ms == 1_767_225_600_000


def test_error_survives_pickling() -> None:
    error = SettingsError("a.b", "bad", other_key="a.c", origin="x.toml")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("value", [{"a": 1234567}, {"a": {"b": "1234567"}}, "a=1234567", 1234567])
def test_no_value_of_sparks_properties_is_in_an_error(value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        one("spark.properties", value)
    assert "1234567" not in str(caught.value)
    with pytest.raises(SettingsError) as caught:
        Settings.from_mappings([("a.toml", {"spark": value})])
    assert "1234567" not in str(caught.value)
