"""Reads settings files and options into layers, weakest first."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from jobs.errors import WrongCallError

Layer = tuple[str, dict[str, object]]
"""(origin, sections), as `Settings.from_mappings` takes them."""

_TEXT_TABLES = frozenset({"spark.properties"})


def file_layers(paths: Sequence[str]) -> list[Layer]:
    """Read TOML files in order.

    Raises:
        WrongCallError: a file cannot be read, or is not TOML.
    """
    return [(path, _read_toml(path)) for path in paths]


def assignment_layers(assignments: Sequence[str]) -> list[Layer]:
    """Read `section.key=value`; a value that is no TOML is taken as text.

    Spark's properties have dots in their names and are always texts:
    `spark.properties.spark.driver.memory=4g`.

    Raises:
        WrongCallError: an assignment has another form.
    """
    return [_read_assignment(assignment) for assignment in assignments]


def option_layer(option: str, key: str, value: object) -> Layer:
    """One option of the command line as a layer of its own, so that errors can name it."""
    section, _, name = key.partition(".")
    return option, {section: {name: value}}


def _read_toml(path: str) -> dict[str, object]:
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise WrongCallError(f"cannot read the settings file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongCallError(f"the settings file {path} is not TOML: {error}") from error


def _read_assignment(assignment: str) -> Layer:
    key, equals, text = assignment.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (equals and dot and section and name):
        raise WrongCallError(f"--set expects section.key=value, got {assignment!r}")
    origin = f"--set {key.strip()}"
    table, _, item = name.partition(".")
    if f"{section}.{table}" in _TEXT_TABLES and item:
        return origin, {section: {table: {item: text}}}
    return origin, {section: {name: _read_literal(text)}}


def _read_literal(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
