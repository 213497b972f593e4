"""Reads settings files and options as layers; later layers override earlier ones."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.settings.settings import setting_keys

Layer = tuple[str, dict[str, object]]
"""Layer for `Settings.from_mappings`: the file or option, and its sections."""

_TABLES_OF_TEXTS = frozenset(
    {"spark.properties", "tiered.keys", "values.subjects", "retention.records"}
)
_SPARK_SUFFIXES = frozenset({".conf", ".properties"})
_SPARK_PROPERTY = re.compile(r"(spark\.[^\s=:\\]+)(?:\s*[=:]\s*|\s+)([^\\]*)")


def file_layers(paths: Sequence[str]) -> list[Layer]:
    """Read files in order: TOML, or Spark's own properties (`.conf`, `.properties`).

    Args:
        paths: files of this machine.

    Returns:
        One layer for each file.

    Raises:
        WrongCallError: a file cannot be read, or has another format.
    """
    return [
        (path, _read_spark(path) if Path(path).suffix in _SPARK_SUFFIXES else _read_toml(path))
        for path in paths
    ]


def assignment_layers(assignments: Sequence[str]) -> list[Layer]:
    """Read assignments `section.key=value`; a value that is not TOML is text.

    Spark's properties have dots in their names and are always texts:
    `spark.properties.spark.driver.memory=4g`. So are the files of keys, `tiered.keys.key1=FILE`,
    subjects, `values.subjects.orders-value=SUBJECT`, and ages, `retention.records.orders=7d`.

    Args:
        assignments: the values of `--set`.

    Returns:
        One layer for each assignment.

    Raises:
        WrongCallError: an assignment has another form.
    """
    return [_read_assignment(assignment) for assignment in assignments]


def option_layer(option: str, key: str, value: object) -> Layer:
    """Return the layer of one option, so that errors can name the option."""
    section, _, name = key.partition(".")
    return option, {section: {name: value}}


def _read_toml(path: str) -> dict[str, object]:
    try:
        return tomllib.loads(_text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise WrongCallError(f"the settings file {path} is not TOML: {error}") from error


def _read_spark(path: str) -> dict[str, object]:
    """Read a file of `spark-submit --properties-file`, without the escapes of Java's format.

    An error names a wrong line by its number only, since the line may hold a secret.
    """
    properties: dict[str, object] = {}
    for number, line in enumerate(_text_of(path).splitlines(), start=1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        found = _SPARK_PROPERTY.fullmatch(text)
        if found is None:
            raise WrongCallError(
                f"line {number} of the settings file {path} is not a Spark property: expected"
                " `spark.name value` without a backslash"
            )
        properties[found[1]] = found[2]
    return {"spark": {"properties": properties}}


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise WrongCallError(f"cannot read the settings file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WrongCallError(f"the settings file {path} is not UTF-8: {error}") from error


def _read_assignment(assignment: str) -> Layer:
    key, equals, text = assignment.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (equals and dot and section and name):
        near = did_you_mean(key.strip(), setting_keys())
        raise WrongCallError(f"--set expects section.key=value, got {assignment!r}{near}")
    origin = f"--set {key.strip()}"
    table, _, item = name.partition(".")
    if f"{section}.{table}" in _TABLES_OF_TEXTS and item:
        return origin, {section: {table: {item: text}}}
    return origin, {section: {name: _read_literal(text)}}


def _read_literal(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
