"""Reads single setting values strictly, according to the type of their key.

Values are not converted, so `"5"` is not a number and `1` is not a switch. A timestamp is a TOML
date-time or ISO-8601 text, in UTC if it has no zone. A duration is text: a number with its unit. A
size is a number of bytes, or text with a unit.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean

_DURATION = re.compile(r"([0-9]{1,9}) ?(s|min|h|d)")
_DURATION_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_SIZE_UNITS = {
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_MOST = 2**63 - 1  # TOML's highest integer
_SIZE = re.compile(rf"([0-9]{{1,15}}) ?({'|'.join(_SIZE_UNITS)})")

Properties = tuple[tuple[str, str], ...]
"""(name, value) pairs sorted by name, as a frozen table of texts that can be pickled."""


TopicDurations = tuple[tuple[str, timedelta | None], ...]
"""(topic glob, duration) pairs sorted by glob; None for no limit."""


class SettingsError(WrongCallError):
    """A setting is unknown, has a wrong type or value, or contradicts another.

    Attributes:
        key: `section.key`.
        problem: text with the fault and the expected value.
        other_key: the setting that `key` contradicts; None for other problems.
        origin: the files or options that the values came from; None for values set in code.
    """

    def __init__(
        self, key: str, problem: str, *, other_key: str | None = None, origin: str | None = None
    ) -> None:
        """Store the arguments, which the class documents."""
        super().__init__(key, problem)
        self.key = key
        self.problem = problem
        self.other_key = other_key
        self.origin = origin

    def __str__(self) -> str:
        """Return the message: key, origin and problem."""
        place = f" (from {self.origin})" if self.origin else ""
        return f"setting {self.key}{place}: {self.problem}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all arguments, including keyword-only ones."""
        make = partial(SettingsError, other_key=self.other_key, origin=self.origin)
        return make, (self.key, self.problem)


def read_value(kind: object, key: str, value: object) -> object:
    """Read a value as the type of its setting.

    Args:
        kind: the key's type in the settings class.
        key: `section.key`, for errors.
        value: the value from TOML or from a caller.

    Raises:
        SettingsError: the value has another type, or is not one of the choices.
        TypeError: no setting may have the type `kind`.
    """
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(key, value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _read_choice(kind, key, value)
    raise TypeError(f"{key}: no setting can have the type {kind}")


def _read_switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(key, "true or false", value)
    return value


def _read_number(key: str, value: object) -> int:
    is_size = key.endswith("_bytes")
    match = _SIZE.fullmatch(value) if is_size and isinstance(value, str) else None
    if match is not None:
        value = int(match[1]) * _SIZE_UNITS[match[2]]
    if isinstance(value, bool) or not isinstance(value, int):
        expected = 'a whole number of bytes, or a size such as "64MiB" or "64MB"'
        raise _wrong_type(key, expected if is_size else "a whole number", value)
    if value > _MOST:
        raise SettingsError(key, f"must be at most {_MOST}, got {value}")
    return value


def _read_text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(key, "a text in quotes", value)
    if not value:
        raise SettingsError(key, "expected a text, got an empty one")
    return value


def _read_texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong_type(key, "a list of texts", value)
    return tuple(_read_text(key, item) for item in value)


def _read_properties(key: str, value: object) -> Properties:
    """Read a table of texts; errors show no values, which may be secrets."""
    if not isinstance(value, Mapping):
        raise SettingsError(key, "expected a table of texts")
    for name, item in value.items():
        if isinstance(item, Mapping):
            raise SettingsError(f"{key}.{name}", "put a name with dots in quotes")
        if not isinstance(item, str):
            raise SettingsError(f"{key}.{name}", "expected a text in quotes")
    return tuple(sorted((name, _read_text(f"{key}.{name}", item)) for name, item in value.items()))


def _read_timestamp(key: str, value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise SettingsError(key, f"{value!r} is not an ISO-8601 timestamp") from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        raise _wrong_type(key, "an ISO-8601 timestamp", value)
    try:
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except OverflowError:
        raise SettingsError(key, f"{value} is outside the years 1 to 9999 in UTC") from None


def _read_duration(key: str, value: object) -> timedelta:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _wrong_type(key, 'a duration such as "90s", "15min", "2h" or "7d"', value)
    return timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})


def _read_topic_durations(key: str, value: object) -> TopicDurations:
    """Read one duration for all topics, or a table of durations by topic glob."""
    given = value if isinstance(value, Mapping) else {"*": value}
    found = {}
    for glob, item in given.items():
        place = f"{key}.{glob}" if isinstance(value, Mapping) else key
        if isinstance(item, Mapping):
            raise SettingsError(place, "put a name with dots in quotes")
        found[glob] = None if item == "off" else _read_duration(place, item)
        if found[glob] == timedelta(0):
            raise SettingsError(place, "must be longer than 0")
    return tuple(sorted(found.items()))


def _read_choice(kind: type[StrEnum], key: str, value: object) -> StrEnum:
    choices = ", ".join(kind)
    if not isinstance(value, str):
        raise _wrong_type(key, f"one of {choices}", value)
    try:
        return kind(value)
    except ValueError:
        problem = f"expected one of {choices}; got {value!r}{did_you_mean(value, kind)}"
        raise SettingsError(key, problem) from None


def _wrong_type(key: str, expected: str, value: object) -> SettingsError:
    return SettingsError(key, f"expected {expected}, got {value!r}")


_READERS: Mapping[object, Callable[[str, object], object]] = {
    bool: _read_switch,
    int: _read_number,
    str: _read_text,
    str | None: _read_text,
    tuple[str, ...]: _read_texts,
    Properties: _read_properties,
    datetime | None: _read_timestamp,
    timedelta | None: _read_duration,
    TopicDurations: _read_topic_durations,
}
