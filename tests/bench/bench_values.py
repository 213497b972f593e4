"""Measures how quickly Avro values become columns, against fastavro and Spark's from_avro.

    cd tests && ../.venv/bin/python -m bench.bench_values --rows 1000000

Each way reads bodies from a Parquet file, on one core, and ends in Parquet. Processor time counts,
for machines are shared. Spark's module for Avro comes from Maven, once. `--docs` writes the table
in tests/bench/results.md.
"""

import argparse
import io
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro

from bench.machine import PAGE, machine, today, updated
from bench.processes import cpu_seconds, process_tree
from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from support.servers.maven_jars import maven_jars

COMMAND = "make bench-values DOCS=yes"
_SPARK_AVRO = f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"
_DISTINCT = 20_000
_FEWER = 10  # fastavro reads this part of the rows
_PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "lat", "type": "float"}, {"name": "lon", "type": "float"}],
}
_KINDS: Mapping[str, Any] = {
    "id": "long",
    "customer": "string",
    "amount": "double",
    "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"]},
    "note": ["null", "string"],
    "tags": {"type": "array", "items": "string"},
    "place": _PLACE,
    "at": {"type": "long", "logicalType": "timestamp-millis"},
}
_SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": name, "type": kind} for name, kind in _KINDS.items()],
}


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # also for the JVM
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "bodies.parquet"), Path(folder, "out")
        size = _write(source, arguments.rows)
        ways = _ways(source, target, arguments.rows)
        found = {name: _rate(rows, way, arguments.runs) for name, (rows, way) in ways.items()}
    text = table(found, arguments.rows, size)
    sys.stdout.write(f"{text}\n")
    if arguments.docs:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), text, COMMAND), "utf-8")
    return 0


def table(rates: Mapping[str, float], rows: int, body_bytes: float) -> str:
    """Return the rates, in rows a second, as a table for the page."""
    best = next(iter(rates.values()))
    lines = [
        f"{rows:,} values of {body_bytes:.0f} bytes and 8 fields (a record, an array, an enum and a"
        f" union among them), Parquet to Parquet, by processor time. {today()}, {machine()}.",
        "",
        "| | million rows a second of one core | seglake is faster by |",
        "| --- | --- | --- |",
    ]
    for name, rate in rates.items():
        lines.append(f"| {name} | {rate / 1e6:.3f} | {best / rate:.1f} |")
    return "\n".join(lines)


def _write(path: Path, rows: int) -> float:
    """Write bodies to a Parquet file; return their mean size."""
    chance, schema = random.Random(1), fastavro.parse_schema(dict(_SCHEMA))
    bodies = []
    for number in range(min(rows, _DISTINCT)):
        value = {
            "id": chance.getrandbits(40),
            "customer": f"customer-{chance.randrange(10_000)}",
            "amount": chance.random(),
            "kind": chance.choice("ABC"),
            "note": chance.choice([None, f"note {number}"]),
            "tags": [f"t{tag}" for tag in range(chance.randrange(3))],
            "place": {"lat": 1.5, "lon": 2.5},
            "at": 1_700_000_000_000 + number,
        }
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, value)
        bodies.append(stream.getvalue())
    chosen = [bodies[number % len(bodies)] for number in range(rows)]
    pq.write_table(pa.table({"value": pa.array(chosen, pa.binary())}), path)
    return statistics.mean(map(len, bodies))


def _ways(source: Path, target: Path, rows: int) -> Mapping[str, tuple[int, Callable[[], None]]]:
    """Return each way with the number of rows that it reads, the one of seglake first."""
    fewer = rows // _FEWER
    return {
        "seglake": (rows, lambda: _by_seglake(source, target)),
        "Spark `from_avro`": (rows, _by_spark(source, target)),
        "fastavro, to Arrow": (fewer, lambda: _by_fastavro(source, target, fewer)),
    }


def _by_seglake(source: Path, target: Path) -> None:
    reader = AvroReader(parsed_schema(json.dumps(_SCHEMA), {}), is_raw_bytes=False)
    # Any: pyarrow's stubs know neither the fields of a type nor the type of a column.
    fields: Any = reader.type
    with pq.ParquetWriter(target, pa.schema([*fields])) as writer:
        for batch in pq.ParquetFile(source).iter_batches(1 << 18):
            values: Any = batch.column("value")
            _, edges, content = values.buffers()
            ends = np.frombuffer(edges, np.int32)[values.offset : values.offset + len(values) + 1]
            data = np.frombuffer(content, np.uint8)
            found: Any = reader.read(data, ends[:-1].astype(np.int64), ends[1:].astype(np.int64))
            writer.write_batch(pa.RecordBatch.from_struct_array(found.values))


def _by_fastavro(source: Path, target: Path, rows: int) -> None:
    schema = fastavro.parse_schema(dict(_SCHEMA))
    # Any: bytes, and values of any schema.
    bodies: list[Any] = pq.read_table(source).column("value").slice(0, rows).to_pylist()
    found: list[Any] = [
        fastavro.schemaless_reader(io.BytesIO(body), schema, None) for body in bodies
    ]
    pq.write_table(pa.Table.from_pylist(found), target)


def _by_spark(source: Path, target: Path) -> Callable[[], None]:
    jars = maven_jars(f"spark-avro-{pyspark.__version__}", [_SPARK_AVRO], alone=True)
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(map(str, jars.glob("*.jar"))))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    text = json.dumps(_SCHEMA)

    def run() -> None:
        values = session.read.parquet(str(source)).select(from_avro("value", text).alias("v"))
        values.select("v.*").write.mode("overwrite").parquet(f"{target}-spark")

    return run


def _rate(rows: int, way: Callable[[], None], runs: int) -> float:
    """Return rows a second: the median of some runs, after one that is not counted."""
    way()
    found = []
    for _ in range(runs):
        before = _processor_seconds()
        way()
        found.append(rows / (_processor_seconds() - before))
    return statistics.median(found)


def _processor_seconds() -> float:
    """Return the processor time of this process and of all below it, such as Spark's."""
    return sum(map(cpu_seconds, process_tree(os.getpid())))


if __name__ == "__main__":
    sys.exit(main())
