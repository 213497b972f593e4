"""`spark.read.format("kafka_segments")`: Kafka's log segments as a DataFrame, without tables.

Spark finds it by the package `pyspark_kafka_segments`. Planning runs in a Python process on the
driver's machine, decoding in tasks; both need seglake's packages.
"""

import json
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from seglake.environment.setting_files import Layer, assignment_layers, option_layer
from seglake.environment.storages import open_storages
from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.pipelines.segment_query.read_plan import Requested, plan_reads
from seglake.pipelines.segment_query.record_stream import SCHEMA, records_of
from seglake.segment_decoding.tasks import DecodeTask
from seglake.settings.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_SETTINGS = {
    "internal_topics": "select.internal_topics",
    "from_timestamp": "select.from_timestamp",
    "to_timestamp": "select.to_timestamp",
    "isolation": "read.isolation",
    "upper_bound": "read.upper_bound",
    "source_id": "source.source_id",
}
_SECTIONS = ("source.", "select.", "read.", "limits.", "tiered.")
_OWN = frozenset({"path", "paths", "topics", "failondataloss"})
_PUSHING_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class KafkaSegmentsSource(DataSource):
    """Data source with the option `failOnDataLoss`, and with ingest's options that select data."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Store the options.

        Args:
            options: the options of the query; the case of names is ignored.
        """
        # Spark's own map of options ignores case but cannot be pickled, so a plain dict is used.
        super().__init__({name.lower(): value for name, value in options.items()})

    @classmethod
    def name(cls) -> str:
        """Return the name for `spark.read.format`."""
        return "kafka_segments"

    def schema(self) -> StructType:
        """Return the columns that every read of the source has."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of one query, with pushed-down filters if Spark's setting allows it.

        Args:
            schema: the columns that the method `schema` returns.
        """
        # If Spark's setting for pushed filters is off, Spark rejects a reader that accepts filters.
        pushes = any(name.startswith(_PUSHING_WORKER) for name in _running_modules())
        return (_PushingReader if pushes else _Reader)(dict(self.options))


class _Reader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._fails_on_loss = _flag(options, "failondataloss", default=True)
        self._requested = Requested()

    def partitions(self) -> list[InputPartition]:
        settings = Settings.from_mappings(_layers(self._options))
        storage = open_storages(settings.spark.properties)
        tasks = plan_reads(
            _paths(self._options),
            storage,
            settings,
            self._requested,
            fails_on_loss=self._fails_on_loss,
        )
        # Spark needs at least one partition: an empty one stands for a query that reads nothing.
        return [InputPartition(task) for task in tasks] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        task = cast("DecodeTask | None", partition.value)
        if task is None:
            return iter(())
        return records_of(task, fails_on_loss=self._fails_on_loss)


class _PushingReader(_Reader):
    """Reader that plans only data that the filters may select; Spark itself checks each row."""

    def pushFilters(self, filters: "list[Filter]") -> "Iterable[Filter]":
        # Only Spark 4.1 and newer call this, and have filters to import.
        from seglake.spark_source.pushed_filters import requested_by

        self._requested = requested_by(filters)
        return filters


def _running_modules() -> list[str]:
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return [*sys.modules, "" if main is None else main.name]


def _paths(options: dict[str, str]) -> list[str]:
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if "path" not in options:
        raise WrongCallError("kafka_segments needs a path: load(path), or load([path, path])")
    return [options["path"]]


def _layers(options: dict[str, str]) -> list[Layer]:
    layers: list[Layer] = []
    for name, text in options.items():
        if name == "topics":
            globs = [glob.strip() for glob in text.split(",") if glob.strip()]
            layers.append(option_layer("option topics", "select.topics", globs))
        elif name == "internal_topics":
            value = _flag(options, name, default=False)
            layers.append(option_layer(f"option {name}", _SETTINGS[name], value))
        elif name in _SETTINGS:
            layers.append(option_layer(f"option {name}", _SETTINGS[name], text))
        elif name.startswith(_SECTIONS):
            layers += assignment_layers([f"{name}={text}"])
        elif name not in _OWN:
            known = sorted([*_SETTINGS, "topics", "failOnDataLoss"])
            raise WrongCallError(
                f"kafka_segments has no option {name!r}: it has {', '.join(known)}, and the keys of"
                f" the sections {', '.join(section.rstrip('.') for section in _SECTIONS)}"
                f"{did_you_mean(name, known)}"
            )
    return layers


def _flag(options: dict[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise WrongCallError(f"the option {name} is true or false, got {text!r}")
    return text == "true"
