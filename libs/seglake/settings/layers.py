"""Merges layers of settings, and remembers the origin of each value.

A layer is one settings file or one option of the command line. Sections and keys that the settings
classes lack are rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_type_hints

from seglake.near_names import did_you_mean
from seglake.settings.values import Properties, SettingsError, TopicDurations, read_value

Layer = tuple[str, Mapping[str, object]]
"""Layer of settings: its origin, and its sections. A later layer overrides an earlier one."""


class Chosen(NamedTuple):
    """Values from all layers.

    Types are checked; bounds and contradictions are not checked yet.
    """

    values: dict[str, dict[str, Any]]  # by section and key
    origins: dict[str, str]  # by "section.key": name of the layer from which the value came

    def blamed(self, error: SettingsError) -> SettingsError:
        """Return a copy of the error that names the layers of its values."""
        keys = [error.key] if error.other_key is None else [error.key, error.other_key]
        places = sorted({self.origins[key] for key in keys if key in self.origins})
        return SettingsError(
            error.key,
            error.problem,
            other_key=error.other_key,
            origin=" and ".join(places) or None,
        )


def choose(sections: Mapping[str, type], layers: Sequence[Layer]) -> Chosen:
    """Merge layers in order.

    A list replaces the earlier list; a table is merged with the earlier table by name.

    Args:
        sections: the settings class of each section, by the section's name.
        layers: the layers, the strongest last.

    Raises:
        SettingsError: an unknown section or key, or a value of the wrong type.
    """
    chosen = Chosen({section: {} for section in sections}, {})
    for origin, given in layers:
        try:
            for section, name, kind, value in _known_values(sections, given):
                below = chosen.values[section].get(name)
                if kind in (Properties, TopicDurations) and below is not None:
                    value = tuple(sorted((dict(below) | dict(value)).items()))
                chosen.values[section][name] = value
                chosen.origins[f"{section}.{name}"] = origin
        except SettingsError as error:
            raise SettingsError(error.key, error.problem, origin=origin) from None
    return chosen


class _KnownValue(NamedTuple):
    section: str
    name: str
    kind: object
    value: Any  # Any: `read_value` has checked its type


def _known_values(
    sections: Mapping[str, type], given: Mapping[str, object]
) -> Iterator[_KnownValue]:
    for section, values in given.items():
        if section not in sections:
            known = ", ".join(sections)
            near = did_you_mean(section, [*sections, *keys_of(sections)])
            raise SettingsError(section, f"there is no such section; there are {known}{near}")
        if not isinstance(values, Mapping):
            raise SettingsError(section, f"expected a table [{section}]")
        kinds = get_type_hints(sections[section])
        for name, value in values.items():
            key = f"{section}.{name}"
            if name not in kinds:
                near = did_you_mean(key, keys_of(sections))
                raise SettingsError(
                    key, f"there is no such key; [{section}] has {', '.join(kinds)}{near}"
                )
            yield _KnownValue(section, name, kinds[name], read_value(kinds[name], key, value))


def keys_of(sections: Mapping[str, type]) -> list[str]:
    """Return every key as `section.name`."""
    return [
        f"{section}.{name}" for section, kind in sections.items() for name in get_type_hints(kind)
    ]
