"""Settings from the options of a call or of a command line."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypedDict

from seglake.environment.setting_files import assignment_layers, file_layers, option_layer
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings

# Options that set one key of the settings.
_KEYS = {
    "master": "spark.master",
    "topics": "select.topics",
    "internal_topics": "select.internal_topics",
    "from_timestamp": "select.from_timestamp",
    "to_timestamp": "select.to_timestamp",
    "isolation": "read.isolation",
    "upper_bound": "read.upper_bound",
    "older_copies": "read.older_copies",
    "salvage": "read.salvage",
    "format": "write.format",
    "source_id": "source.source_id",
    "stuck_after": "limits.stuck_after",
}

RESCUE = {
    "select.internal_topics": True,
    "read.upper_bound": "log_end",
    "read.older_copies": True,
    "quarantine.max_raw_bytes": "64MiB",
}
"""Settings of `rescue`; conf/README.md has the table."""

_WITHOUT_SPARK = frozenset({"local", "duckdb"})


class SettingOptions(TypedDict, total=False):
    """Options from which the settings are made.

    Later options override earlier ones in this order: `config`, `rescue`, `set`, then options of a
    single setting, whose keys are in brackets. None leaves a setting unchanged.

    Attributes:
        config: settings files; later files override earlier files.
        rescue: whether to apply the settings for disks of a dead cluster.
        set: single settings, as `section.key=value`.
        master: URL of a Spark cluster's master (`spark.master`).
        topics: patterns of topics, such as `orders*`; a leading `!` excludes (`select.topics`).
        internal_topics: whether to also select Kafka's own topics (`select.internal_topics`).
        from_timestamp: first time to ingest; text is ISO-8601 (`select.from_timestamp`).
        to_timestamp: first time not to ingest; text is ISO-8601 (`select.to_timestamp`).
        isolation: "read_committed" or "read_uncommitted" (`read.isolation`).
        upper_bound: "high_watermark" or "log_end" (`read.upper_bound`).
        older_copies: whether to also read older copies of a log (`read.older_copies`).
        salvage: whether to store records of batches with a wrong checksum (`read.salvage`).
        format: "delta" or "parquet" (`write.format`).
        source_id: the cluster's id if no `meta.properties` has it (`source.source_id`).
        stuck_after: time after which an unmoved upper bound becomes a finding, such as "6h"
            (`limits.stuck_after`).
        tiered_key: files of private keys of encrypted remote tiers, by key id (`tiered.keys`).
    """

    config: Sequence[str]
    rescue: bool | None
    set: Sequence[str]
    master: str | None
    topics: Sequence[str] | None
    internal_topics: bool | None
    from_timestamp: datetime | str | None
    to_timestamp: datetime | str | None
    isolation: str | None
    upper_bound: str | None
    older_copies: bool | None
    salvage: bool | None
    format: str | None
    source_id: str | None
    stuck_after: str | None
    tiered_key: Mapping[str, str] | None


def settings_of(
    options: Mapping[str, object], shown: Callable[[str], str] = lambda name: f"{name}="
) -> Settings:
    """Return the settings from a call's options.

    Args:
        options: options with names as in `SettingOptions`; other names are ignored.
        shown: returns the name of an option in the form for error messages.

    Raises:
        WrongCallError: a file or an assignment cannot be read, or two options exclude each other.
        SettingsError: a key or a value is refused.
    """
    engine = options.get("engine")
    if engine in _WITHOUT_SPARK and options.get("master") is not None:
        raise WrongCallError(
            f"{shown('master')} names a Spark cluster, but {shown('engine')} {engine} runs no Spark"
        )
    layers = [
        option_layer(shown(name), key, options[name])
        for name, key in _KEYS.items()
        if options.get(name) is not None
    ]
    keys = options.get("tiered_key")
    if isinstance(keys, Mapping | Sequence):  # (key id, file) pairs from a command line
        layers.append(option_layer(shown("tiered_key"), "tiered.keys", dict(keys)))
    files, assignments = _texts(options, "config"), _texts(options, "set")
    preset = RESCUE.items() if options.get("rescue") else ()
    return Settings.from_mappings(
        [
            *file_layers(files),
            *(option_layer(shown("rescue"), key, value) for key, value in preset),
            *assignment_layers(assignments),
            *layers,
        ]
    )


def _texts(options: Mapping[str, object], name: str) -> list[str]:
    given = options.get(name) or ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise WrongCallError(f"{name} must be a list, got {given!r}")
    return [str(text) for text in given]
