"""Measures values of JSON on one core, from Parquet to Parquet, against Spark and DuckDB.

The three read the same column of bytes and write the same columns, in turn; the best run of each
counts. Only seglake finds the types itself, keeps what fits no column, and gives a reason for what
is no JSON; its first row is for both passes.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.bench_ingest import say
from bench.machine import machine
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.shapes import Shape, merged_shapes
from seglake.value_codec.json.value_reader import JsonReader
from support.json_values import Bodies

_TYPES = (
    "id BIGINT, name STRING, score DOUBLE, ok BOOLEAN, tags ARRAY<STRING>, "
    "addr STRUCT<city: STRING, zip: BIGINT>, note STRING, at BIGINT"
)
_STRUCTURE = {
    "id": "BIGINT", "name": "VARCHAR", "score": "DOUBLE", "ok": "BOOLEAN", "tags": ["VARCHAR"],
    "addr": {"city": "VARCHAR", "zip": "BIGINT"}, "note": "VARCHAR", "at": "BIGINT",
}  # fmt: skip
_BATCH = 50_000


def _value(number: int, draw: np.random.Generator) -> bytes:
    """A value of some 150 bytes and 8 members."""
    row = {
        "id": number,
        "name": f"user {number % 1000}",
        "score": float(draw.random()),
        "ok": number % 2 == 0,
        "tags": ["red", "green"][: number % 3],
        "addr": {"city": "Oslo", "zip": number % 9999},
        "note": None if number % 3 else "a\nb",
        "at": 1_700_000_000_000 + number,
    }
    return json.dumps(row).encode()


def main(argv: Sequence[str]) -> int:
    """Make the values, read them in each way, print rows a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3, help="of each way")
    arguments = parser.parse_args(argv)
    draw = np.random.default_rng(1)
    values = [_value(number, draw) for number in range(arguments.rows)]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "values.parquet"), Path(folder, "rows.parquet")
        pq.write_table(pa.table({"value": pa.array(values, pa.binary())}), source)
        shape = _found(source)
        with _spark() as spark:
            ways: dict[str, Callable[[], None]] = {
                "seglake, types found first": lambda: _seglake(source, target, _found(source)),
                "seglake": lambda: _seglake(source, target, shape),
                "Spark's from_json": lambda: _in_spark(spark, source, target),
                "DuckDB's json_transform": lambda: _in_duckdb(source, target),
            }
            best = {name: _best(way, arguments.runs) for name, way in ways.items()}
    size = sum(map(len, values)) / len(values)
    say(f"{machine()}; {arguments.rows:,} values of {size:.0f} bytes, one core")
    for name, seconds in best.items():
        say(f"{name:30} {arguments.rows / seconds / 1e6:6.2f} M rows/s")
    return 0


def _best(way: Callable[[], None], runs: int) -> float:
    """The shortest time of some runs, in seconds, after one that warms up."""
    times = []
    for _ in range(runs + 1):
        begin = time.perf_counter()
        way()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def _batches(source: Path) -> list[Bodies]:
    found = []
    for batch in pq.ParquetFile(source).iter_batches(_BATCH, columns=["value"]):
        column: Any = batch.column(0)
        _, edges, content = column.buffers()
        bounds = np.frombuffer(edges, np.int32).astype(np.int64)[column.offset :]
        bounds = bounds[: len(column) + 1]
        found.append((np.frombuffer(content, np.uint8), bounds[:-1], bounds[1:]))
    return found


def _found(source: Path) -> Shape:
    [first, *others] = [shape_of(*bodies) for bodies in _batches(source)]
    for other in others:
        first = merged_shapes(first, other)
    return first


def _seglake(source: Path, target: Path, shape: Shape) -> None:
    reader = JsonReader(shape)
    kind: Any = reader.type
    with pq.ParquetWriter(target, pa.schema(list(kind)), compression="snappy") as writer:
        for bodies in _batches(source):
            rows: Any = reader.read(*bodies).values
            writer.write_batch(pa.RecordBatch.from_struct_array(rows))


def _spark() -> SparkSession:
    return (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", tempfile.gettempdir())
        .getOrCreate()
    )


def _in_spark(spark: SparkSession, source: Path, target: Path) -> None:
    rows = spark.read.parquet(str(source)).selectExpr(
        f"from_json(cast(value AS STRING), '{_TYPES}') AS row"
    )
    rows.select("row.*").write.mode("overwrite").parquet(f"{target}.spark")


def _in_duckdb(source: Path, target: Path) -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"COPY (SELECT unnest(json_transform(decode(value)::JSON, '{json.dumps(_STRUCTURE)}')) "
            f"FROM '{source}') TO '{target}.duckdb' (FORMAT parquet)"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
