"""Settings are frozen, strict, and name the culprit."""

import pickle
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest

from seglake.kafka_log.read_policy import UpperBound
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
    with pytest.raises(SettingsError, match=r"^setting source.source_id: may hold"):
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
