"""Settings are frozen, strict, and name the culprit."""

import pickle
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta

import pytest

from seglake.kafka_log.read_policy import UpperBound
from seglake.settings.layers import Layer
from seglake.settings.settings import (
    LimitsSettings,
    SelectSettings,
    Settings,
    SourceSettings,
)
from seglake.settings.values import SettingsError


def one(key: str, value: object) -> Settings:
    section, _, name = key.partition(".")
    return Settings.from_mappings([("a.toml", {section: {name: value}})])


def test_no_layers_give_the_defaults() -> None:
    assert Settings.from_mappings([]) == Settings()


def test_contradiction_is_refused_in_code_too() -> None:
    with pytest.raises(SettingsError, match=r"^setting source.source_id: may only have"):
        SourceSettings("a b")
    with pytest.raises(SettingsError):
        LimitsSettings(max_decompressed_batch_bytes=-5)


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
    assert {topic for topic in topics if select.selects_topic(topic)} == taken


def test_settings_are_frozen_and_pickle() -> None:
    settings = one("read.upper_bound", "log_end")
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.read.upper_bound is UpperBound.LOG_END
    with pytest.raises(FrozenInstanceError):
        settings.read.split_bytes = 5  # type: ignore[misc]  # that it cannot be is the point


@pytest.mark.parametrize(
    ("records", "topic", "days"),
    [
        ("400d", "orders", 400),
        ("400d", "_schemas", None),
        ("400d", "__consumer_offsets", None),
        ({"*": "400d", "_schemas": "9d"}, "_schemas", 9),
        ({"*": "400d", "_*": "9d"}, "orders", 400),
        ({"*": "400d", "ord*": "7d", "orders": "off"}, "orders", None),
        ({"*": "400d", "ord*": "7d", "orders": "off"}, "ordnance", 7),
        ({"ord*": "7d"}, "clicks", None),
        ("off", "orders", None),
    ],
)
def test_longest_glob_says_how_old_records_may_become(
    records: object, topic: str, days: int | None
) -> None:
    found = one("retention.records", records).retention.records_of(topic)
    assert found == (None if days is None else timedelta(days=days))


def test_limits_of_several_layers_are_merged_by_glob() -> None:
    layers: list[Layer] = [
        ("a.toml", {"retention": {"records": "400d"}}),
        ("b.toml", {"retention": {"records": {"audit": "off"}}}),
    ]
    retention = Settings.from_mappings(layers).retention
    assert retention.records == (("*", timedelta(days=400)), ("audit", None))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (400, "setting retention.records (from a.toml): expected a duration"),
        ("0d", "setting retention.records (from a.toml): must be longer than 0"),
        ({"a": "7 years"}, "setting retention.records.a (from a.toml): expected a duration"),
        ({"a": {"b": "7d"}}, "setting retention.records.a (from a.toml): put a name with dots"),
    ],
)
def test_limit_of_records_is_a_duration(value: object, problem: str) -> None:
    with pytest.raises(SettingsError) as raised:
        one("retention.records", value)
    assert str(raised.value).startswith(problem)
