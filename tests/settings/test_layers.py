"""Later layers win, and whatever is refused names where it came from."""

import pytest

from seglake.kafka_log.read_policy import Isolation
from seglake.settings.settings import ReadSettings, Settings
from seglake.settings.values import SettingsError


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
            "must be after from_timestamp",
        ),
        ([("a", {"read": {"split_bytes": 70_000}})], "a", "is above read.split_bytes 70000"),
        ([("a", {"write": {"wave_bytes": 5}})], "a", "5 is below read.split_bytes"),
        ([("a", {"select": {"topics": ["x", "!x"]}})], "a", "both included and excluded"),
        ([("a", {"select": {"topics": ["!"]}})], "a", "a topic glob is empty"),
        ([("a", {"select": {"topics": ["__consumer_offsets"]}})], "a", "internal_topics is false"),
    ],
)
def test_contradiction_names_every_origin(
    layers: list[tuple[str, dict[str, object]]], origin: str, problem: str
) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        Settings.from_mappings(layers)
    assert caught.value.origin == origin
