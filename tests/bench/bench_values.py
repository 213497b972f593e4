"""Measures how quickly records become typed Parquet on one core, against other ways.

Each way gets the same file of `records`, and writes the place of each record and the columns of its
value. Processor time counts, the median of some runs, in turn: machines are shared. Spark's module
for Avro comes from Maven, once. `--docs` writes the table in tests/bench/results.md.
"""

import argparse
import cProfile
import io
import json
import os
import pstats
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr, from_json

from bench.machine import PAGE, machine, today, updated
from bench.made_values import (
    AVRO,
    AVRO_HEAD,
    DISTINCT,
    JSON_TYPES,
    PROTOBUF,
    PROTOBUF_HEAD,
    in_avro,
    in_json,
    in_protobuf,
    orders,
)
from bench.processes import cpu_seconds, process_tree
from bench.typed_records import TypedRecords, registry_of, write_records
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from support.servers.maven_jars import maven_jars

COMMAND = "make bench-values DOCS=yes"
_SPARK_AVRO = f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"
_FEWER = 10  # Python's loops read this part of the rows
# What each of these functions does, whose time counts.
_STEPS = {
    "read_row_group": "read `records`, once to find the schema ids and once to decode",
    "group_heads": "find frames and their schema ids, twice",
    "read_values": "check Avro's values and store them in columns",
    "copy_ranges": "copy texts",
    "write_table": "write the typed table's file",
}
_PLACE = ["partition", "offset", "timestamp", "timestamp_ms", "headers", "generation", "key"]


class Way(NamedTuple):
    """A way to read values.

    Attributes:
        form: the form of the values.
        name: who reads them, for a person.
        rows: how many it reads.
    """

    form: str
    name: str
    rows: int
    run: Callable[[], object]


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # also for the JVM
    with TemporaryDirectory() as folder:
        ways, sizes = _ways(Path(folder), arguments.rows)
        rates = _rates(ways, arguments.runs)
        steps = _steps(ways[0])
    text = f"{table(rates, arguments.rows, sizes)}\n\n{steps_table(steps)}"
    sys.stdout.write(f"{text}\n")
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
    return 0


def table(
    rates: Mapping[tuple[str, str], float], rows: int, body_bytes: Mapping[str, float]
) -> str:
    """Return the rates, in rows a second, as a table for the page."""
    of_form = {form: rate for (form, _), rate in reversed([*rates.items()])}  # the first one's
    sizes = ", ".join(f"{size:.0f} in {form}" for form, size in body_bytes.items())
    lines = [
        f"{rows:,} records with values of 8 fields (a record, an array, an enum and a null among"
        f" them), from a file of `records` to one of a typed table, by processor time. Bytes of a"
        f" value: {sizes}. {today()}, {machine()}.",
        "",
        "| | | million rows a second of one core | seglake is faster by |",
        "| --- | --- | --- | --- |",
    ]
    for (form, name), rate in rates.items():
        lines.append(f"| {form} | {name} | {rate / 1e6:.3f} | {of_form[form] / rate:.1f} |")
    return "\n".join(lines)


def steps_table(seconds: Mapping[str, float]) -> str:
    """Return the seconds of each step of Avro as a table for the page."""
    lines = ["| step of Avro, with the search for schema ids | s |", "| --- | --- |"]
    lines += [f"| {step} | {found:.2f} |" for step, found in seconds.items()]
    return "\n".join(lines)


def _steps(way: Way) -> dict[str, float]:
    """Return the processor time of a way by steps; what is in none is the last one."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(way.run)
    # Any: the stubs lack the times of functions.
    stats: Any = pstats.Stats(profile)
    found = dict.fromkeys(_STEPS.values(), 0.0)
    for (_, _, name), (_, _, own, _, _) in stats.stats.items():
        if name in _STEPS:
            found[_STEPS[name]] += own
    return {**found, "all else": stats.total_tt - sum(found.values())}


def _ways(folder: Path, rows: int) -> tuple[list[Way], dict[str, float]]:
    """Return all ways, seglake's first of each form, and the mean size of values by form."""
    found = SchemaMessages(PROTOBUF, {}).at((0,))
    assert found is not None
    message_class, some, fewer = found[1].message_class, orders(), rows // _FEWER
    forms = {
        "Avro": (in_avro(some), registry_of(json.dumps(AVRO), "AVRO")),
        "JSON": (in_json(some), None),
        "Protobuf": (in_protobuf(some, message_class), registry_of(PROTOBUF, "PROTOBUF")),
    }
    lakes = {}
    for form, (distinct, registry) in forms.items():
        lake = folder / form
        values = [distinct[number % DISTINCT] for number in range(rows)]
        lakes[form] = TypedRecords(lake, write_records(lake, values), values, registry)
    session, avro, protobuf = _session(), lakes["Avro"], lakes["Protobuf"]
    by_spark = partial(_by_spark, session, folder / "spark")
    framed = expr(f"substring(value, {len(AVRO_HEAD) + 1})")
    as_avro = from_avro(framed, json.dumps(AVRO))
    as_json = from_json(expr("cast(value AS STRING)"), JSON_TYPES)
    known = lakes["JSON"].decoding(lakes["JSON"].uses())
    bodies = [value[len(PROTOBUF_HEAD) :] for value in protobuf.values[:fewer]]
    ways = [
        Way("Avro", "seglake, first run, with the search for schema ids", rows, avro.decode),
        Way("Avro", "seglake, later runs", rows, avro.decoding(avro.uses())),
        Way("Avro", "Spark `from_avro`", rows, lambda: by_spark(avro.path, as_avro)),
        Way("Avro", "fastavro, to Arrow", fewer, lambda: _by_fastavro(avro, folder, fewer)),
        Way("JSON", "seglake, types found in all values first", rows, lakes["JSON"].decode),
        Way("JSON", "seglake, with known types", rows, known),
        Way("JSON", "Spark `from_json`", rows, lambda: by_spark(lakes["JSON"].path, as_json)),
        Way("Protobuf", "seglake, first run", rows, protobuf.decode),
        Way("Protobuf", "seglake, later runs", rows, protobuf.decoding(protobuf.uses())),
        Way(
            "Protobuf",
            "Google's library, parsing alone",
            len(bodies),
            lambda: [message_class.FromString(body) for body in bodies],
        ),
    ]
    sizes = {form: statistics.mean(map(len, distinct)) for form, (distinct, _) in forms.items()}
    return ways, sizes


def _by_fastavro(avro: TypedRecords, folder: Path, rows: int) -> None:
    schema = fastavro.parse_schema(dict(AVRO))
    # Any: bytes, and values of any schema.
    values: list[Any] = pq.read_table(avro.path).column("value").slice(0, rows).to_pylist()
    streams = [io.BytesIO(value[len(AVRO_HEAD) :]) for value in values]
    found: list[Any] = [fastavro.schemaless_reader(stream, schema, None) for stream in streams]
    pq.write_table(pa.Table.from_pylist(found), folder / "fastavro.parquet")


def _session() -> SparkSession:
    jars = maven_jars(f"spark-avro-{pyspark.__version__}", [_SPARK_AVRO], alone=True)
    return (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(map(str, jars.glob("*.jar"))))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )


def _by_spark(session: SparkSession, target: Path, path: str, value: Column) -> None:
    rows = session.read.parquet(path).select(*_PLACE, value.alias("v"))
    rows.select(*_PLACE, "v.*").write.mode("overwrite").parquet(str(target))


def _rates(ways: list[Way], runs: int) -> dict[tuple[str, str], float]:
    """Return rows a second of each way: the median of some runs, after one that is not counted."""
    found: dict[tuple[str, str], list[float]] = {(way.form, way.name): [] for way in ways}
    for number in range(runs + 1):
        for way in ways:
            before = _processor_seconds()
            way.run()
            if number:
                rate = way.rows / (_processor_seconds() - before)
                found[way.form, way.name].append(rate)
    return {key: statistics.median(rates) for key, rates in found.items()}


def _processor_seconds() -> float:
    """Return the processor time of this process and of all below it, such as Spark's."""
    return sum(map(cpu_seconds, process_tree(os.getpid())))


if __name__ == "__main__":
    sys.exit(main())
