"""What conf/ says about the settings is what the settings are."""

import re
import tomllib
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

from seglake.settings.settings import Settings

CONF = Path(__file__).parents[1] / "conf"
_ROW = re.compile(r"^\| `([a-z_.]+)` \| (.+?) \|(.*?)\| (.+?) \|$", re.MULTILINE)


def defaults() -> dict[str, object]:
    settings = Settings()
    return {
        f"{section.name}.{key.name}": getattr(getattr(settings, section.name), key.name)
        for section in fields(Settings)
        for key in fields(getattr(settings, section.name))
    }


def as_documented(value: object) -> str:
    """A default the way conf/README.md writes it: TOML, or `none`."""
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case int():
            return f"`{value}`"
        case StrEnum() | str():
            return f'`"{value}"`'
        case ():
            return "an empty table or list"
        case _:
            raise TypeError(f"no TOML for {value!r}")


def test_readme_lists_every_key_once_in_order() -> None:
    rows = _ROW.findall((CONF / "README.md").read_text("utf-8"))
    assert [key for key, *_ in rows] == list(defaults())


def test_readme_gives_the_defaults_the_code_has() -> None:
    rows = _ROW.findall((CONF / "README.md").read_text("utf-8"))
    empty = {"`[]`": as_documented(()), "`{}`": as_documented(())}
    documented = {key: empty.get(default, default) for key, default, *_ in rows}
    assert documented == {key: as_documented(value) for key, value in defaults().items()}


def test_readme_names_the_unit_of_every_size() -> None:
    rows = _ROW.findall((CONF / "README.md").read_text("utf-8"))
    assert {key: unit.strip() for key, _, unit, _ in rows if key.endswith("_bytes")} == {
        key: "bytes" for key in defaults() if key.endswith("_bytes")
    }


def test_example_is_the_defaults() -> None:
    path = CONF / "example.toml"
    sections = tomllib.loads(path.read_text("utf-8"))
    assert Settings.from_mappings([(str(path), sections)]) == Settings()


def test_example_names_every_key() -> None:
    text = (CONF / "example.toml").read_text("utf-8")
    keys = {key.partition(".")[2] for key in defaults()} - {"properties", "keys", "subjects"}
    assert {key for key in keys if not re.search(rf"^(# )?{key} = ", text, re.MULTILINE)} == set()
    assert {"[spark.properties]", "[tiered.keys]", "[values.subjects]"} <= set(text.splitlines())


def test_example_stays_valid_when_its_comments_are_taken_in() -> None:
    text = (CONF / "example.toml").read_text("utf-8")
    everything = re.sub(r"^# (?=[a-z_0-9\"-]+(\.[a-z.]+\")? = )", "", text, flags=re.MULTILINE)
    settings = Settings.from_mappings([("example", tomllib.loads(everything))])
    assert settings.source.source_id == "orders-cluster"
    assert settings.select.to_timestamp_ms == 1_769_904_000_000
    assert settings.spark.properties == (("spark.driver.memory", "4g"),)
    assert settings.tiered.keys == (("key1", "/secure/key1.pem"),)
    assert settings.values.subjects == (("orders-value", "shop.orders-value"),)
