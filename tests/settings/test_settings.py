"""Settings are frozen, strict, and name the culprit."""

import pickle
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.pipelines.settings.settings import (
    LimitsSettings,
    ReadSettings,
    SelectSettings,
    Settings,
    SourceSettings,
)
from seglake.pipelines.settings.values import SettingsError


def one(key: str, value: object) -> Settings:
    section, _, name = key.partition(".")
    return Settings.from_mappings([("a.toml", {section: {name: value}})])


def test_no_layers_give_the_defaults() -> None:
    assert Settings.from_mappings([]) == Settings()


def test_later_layer_wins_key_by_key() -> None:
    settings = Settings.from_mappings(
        [
            ("a.toml", {"read": {"isolation": "read_uncommitted", "split_bytes": 8_000_000}}),
            ("b.toml", {"read": {"split_bytes": 9_000_000}}),
        ]
    )
    assert settings.read == ReadSettings(Isolation.READ_UNCOMMITTED, split_bytes=9_000_000)


def test_list_of_later_layer_replaces_and_properties_merge() -> None:
    settings = Settings.from_mappings(
        [
            ("a", {"select": {"topics": ["a"]}, "spark": {"properties": {"x": "1", "y": "1"}}}),
            ("b", {"select": {"topics": ["b"]}, "spark": {"properties": {"y": "2"}}}),
        ]
    )
    assert settings.select.topics == ("b",)
    assert settings.spark.properties == (("x", "1"), ("y", "2"))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("reed.isolation", "read_committed", "there is no such section"),
        ("read.isolatoin", "read_committed", "there is no such key; [read] has isolation,"),
        ("read.isolation", "serializable", "expected one of read_committed, read_uncommitted"),
        ("read.isolation", 1, "expected one of read_committed"),
        ("read.split_bytes", "5", "expected a whole number, got '5'"),
        ("read.split_bytes", True, "expected a whole number, got True"),
        ("read.split_bytes", 1e6, "expected a whole number"),
        ("limits.fail_on_quarantine", 1, "expected true or false, got 1"),
        ("select.topics", "orders", "expected a list of texts"),
        ("select.topics", [1], "expected a text in quotes, got 1"),
        ("source.source_id", 5, "expected a text in quotes, got 5"),
        ("source.source_id", "", "got an empty one"),
        ("source.source_id", "a/b", "may hold letters, digits, _ and - only; got 'a/b'"),
        ("select.from_timestamp", "yesterday", "'yesterday' is no ISO-8601 timestamp"),
        ("select.from_timestamp", 5, "expected an ISO-8601 timestamp, got 5"),
        ("spark.properties", {"a": 1}, "expected a text in quotes, got 1"),
        ("spark.properties", "a=1", "expected a table of texts"),
        ("spark.master", "", "got an empty one"),
        ("read.split_bytes", 0, "must be at least 1, got 0"),
        ("read.window_bytes", 1, "must be at least 65536, got 1"),
        ("read.decoded_bytes", -1, "must be at least 1"),
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


def test_section_that_is_no_table_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"setting read \(from a.toml\): expected a table"):
        Settings.from_mappings([("a.toml", {"read": 5})])


@pytest.mark.parametrize(
    ("layers", "origin", "problem"),
    [
        (
            [
                ("a", {"select": {"from_timestamp": "2026-02-01"}}),
                ("b", {"select": {"to_timestamp": "2026-01-01"}}),
            ],
            "a and b",
            "must lie after from_timestamp",
        ),
        ([("a", {"read": {"split_bytes": 70_000}})], "a", "is above read.split_bytes 70000"),
        ([("a", {"write": {"wave_bytes": 5}})], "a", "5 is below read.split_bytes"),
        ([("a", {"select": {"topics": ["x", "!x"]}})], "a", "both included and excluded"),
        ([("a", {"select": {"topics": ["!"]}})], "a", "a topic glob is empty"),
        ([("a", {"select": {"topics": ["__x"]}})], "a", "internal_topics is false"),
    ],
)
def test_contradiction_names_every_origin(
    layers: list[tuple[str, dict[str, object]]], origin: str, problem: str
) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        Settings.from_mappings(layers)
    assert caught.value.origin == origin


def test_contradiction_is_refused_in_code_too() -> None:
    with pytest.raises(SettingsError, match=r"^setting source.source_id: may hold"):
        SourceSettings("a b")
    with pytest.raises(SettingsError):
        LimitsSettings(max_decompressed_batch_bytes=-5)


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


def test_timestamp_below_a_millisecond_is_rounded_up() -> None:
    moment = datetime(1970, 1, 1, 0, 0, 0, 1001, tzinfo=UTC)
    assert SelectSettings(from_timestamp=moment).from_timestamp_ms == 2
    assert SelectSettings().to_timestamp_ms is None


@pytest.mark.parametrize(
    ("select", "taken"),
    [
        (SelectSettings(), {"orders", "orders-test", "Orders"}),
        (SelectSettings(topics=("orders*",)), {"orders", "orders-test"}),
        (SelectSettings(topics=("orders*", "!*-test")), {"orders"}),
        (SelectSettings(topics=("!orders*",)), {"Orders"}),
        (SelectSettings(topics=("__*",), internal_topics=True), {"__consumer_offsets"}),
    ],
)
def test_globs_select_topics(select: SelectSettings, taken: set[str]) -> None:
    topics = ("orders", "orders-test", "Orders", "__consumer_offsets")
    assert {topic for topic in topics if select.takes_topic(topic)} == taken


def test_settings_are_frozen_and_pickle() -> None:
    settings = one("read.upper_bound", "log_end")
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.read.upper_bound is UpperBound.LOG_END
    with pytest.raises(FrozenInstanceError):
        settings.read.split_bytes = 5  # type: ignore[misc]  # that it cannot be is the point


def test_error_survives_pickling() -> None:
    error = SettingsError("a.b", "bad", other_key="a.c", origin="x.toml")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
