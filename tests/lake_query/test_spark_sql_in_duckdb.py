"""DuckDB answers what people type in Spark's SQL, and answers it as Spark does."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.answers import Answer
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.storage.local_storage import LocalStorage

_VALUES = (
    b'{"a": 1, "b": {"c": [1, {"d": "x"}], "e f": null}, "t": "2026-03-29T01:30:00Z"}',
    b'{"a": "n\\u00e9", "b": 1.5, "big": 12345678901234567890, "l": [], "yes": true}',
    b'[{"a": 7}, {"a": 8}]',
    b'{"a": 1',
    b"no json",
    "n\u00e9 \u65e5\u672c a-b-c".encode(),
    b"",
    b"\xff\xfe\x00",
    b"cut \xc3",
    None,
)
_TIMES = (
    datetime(2026, 3, 29, 1, 30, tzinfo=UTC),  # a clock is put forward then, not in UTC
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 0, 0, 1000, tzinfo=UTC),
    datetime(1, 1, 8, tzinfo=UTC),
    None,
)
_EXPRESSIONS = (
    "CAST(value AS STRING)",
    "string(key)",
    "get_json_object(CAST(value AS STRING), '$.a')",
    "get_json_object(try_validate_utf8(value), '$.b')",
    "get_json_object(string(value), '$.b.c[1].d')",
    "get_json_object(string(value), '$[1].a')",
    "get_json_object(string(value), '$.l')",
    "get_json_object(string(value), 'a')",
    "get_json_object(string(value), '/a')",
    "get_json_object(string(value), '$.big')",
    "get_json_object(string(value), '$.yes')",
    "get_json_object(string(value), '$[''a'']')".replace("\\'\\'", "''"),
    "to_date(timestamp)",
    "to_date('2026-01-02')",
    "to_date('02/01/2026', 'dd/MM/yyyy')",
    "date_format(timestamp, 'yyyy-MM-dd HH:mm:ss.SSS')",
    "date_format(timestamp, 'd MMM yy, EEEE')",
    "date_format(timestamp, 'hh:mm a')",
    "date_format(timestamp, 'yyyyMMdd''T''HHmmss')",
    "from_unixtime(timestamp_ms)",
    "from_unixtime(0, 'yyyy/MM')",
    "unix_timestamp(timestamp)",
    "unix_timestamp('2026-01-02 03:04:05')",
    "unix_timestamp('02.01.2026', 'dd.MM.yyyy')",
    "unix_millis(timestamp)",
    "unix_micros(timestamp)",
    "unix_seconds(timestamp)",
    "timestamp_millis(timestamp_ms)",
    "timestamp_seconds(timestamp_ms)",
    "date_trunc('HOUR', timestamp)",
    "date_trunc('week', timestamp)",
    "date_trunc('month', timestamp)",
    "CAST(timestamp AS DATE)",
    "CAST('2026-01-02 03:04:05' AS TIMESTAMP)",
    "year(timestamp)",
    "hour(timestamp)",
    "dayofweek(timestamp)",
    "weekday(timestamp)",
    "date_add(to_date(timestamp), 3)",
    "date_sub(to_date(timestamp), 3)",
    "datediff(to_date('2026-01-05'), to_date(timestamp))",
    "substring_index(topic, '.', 1)",
    "substring_index(topic, '.', -1)",
    "substring_index(topic, '.', 0)",
    "substring(topic, 0, 2)",
    "substring(topic, 2)",
    "substr(topic, -3, 2)",
    "topic RLIKE '[.-]'",
    "string(key) NOT RLIKE '^[a-z ]+$'",
    "regexp_like(topic, 'o')",
    "regexp_extract(topic, '([a-z]+)')",
    "regexp_extract(topic, '([a-z]+)[.]([a-z]+)', 2)",
    "regexp_replace(topic, '([a-z])[.]', '$1_')",
    "regexp_replace(topic, 'o', '')",
    "split(topic, '[.-]')",
    "nvl(string(key), 'none')",
    "nvl2(key, 'some', 'none')",
    "ifnull(string(key), 'none')",
    "if(key IS NULL, 'none', 'some')",
    "concat(topic, string(key))",
    "concat(topic, '/', partition)",
    "concat(topic, NULL)",
    "concat_ws('|', topic, key, partition)",
    "topic || '/' || key",
    "key LIKE '%0%'",
    "topic LIKE 'my.%'",
    "upper(key)",
    "length(value)",
    "length(string(key))",
    "length(topic)",
    "octet_length(value)",
    "hex(value)",
    "md5(value)",
    "sha2(value, 256)",
    "is_valid_utf8(string(key))",
    "size(headers)",
    "try_element_at(headers, 1).key",
    "string(try_element_at(headers, -1).value)",
    "map_keys(map_from_entries(headers))",
    "try_element_at(map_from_entries(headers), 'h')",
    "transform(headers, h -> h.key)",
    "array_contains(transform(headers, h -> h.key), 'h')",
    "array_join(transform(headers, h -> h.key), '+')",
    "array_join(sort_array(transform(headers, h -> h.key)), '+')",
    "element_at(split(topic, '[.]'), 1)",
    "slice(headers, 1, 1)",
    "slice(headers, -1, 1)",
    "`partition` + 1",
    "7 div 2",
    "-7 div 2",
    "pmod(-7, 3)",
    "5 ^ 3",
    "log(2, 8)",
    "key <=> NULL",
    "startswith(topic, 'my')",
    "endswith(topic, 'EU')",
    "instr(topic, 'o')",
    "locate('o', topic)",
    "CAST(partition AS STRING)",
    "CAST(timestamp AS STRING)",
    "CAST(to_date(timestamp) AS STRING)",
    "to_timestamp('2026-01-02 03:04:05')",
    "to_timestamp('02/01/2026', 'dd/MM/yyyy')",
    "to_timestamp(timestamp_ms)",
    "timestamp > '2020-01-01'",
    "timestamp BETWEEN '2020-01-01' AND '2025-01-01'",
    "timestamp + INTERVAL 1 HOUR",
    "date_trunc('MM', timestamp)",
    "trunc(timestamp, 'MM')",
    "add_months(to_date(timestamp), 1)",
    "date_diff(timestamp, '2026-01-01')",
    "dayname(timestamp)",
    "monthname(timestamp)",
    "json_array_length(string(value))",
    "key = 'k0'",
    "key IN ('k0', 'k1')",
    "split(key, 'k')",
    "instr(key, '0')",
    "concat(key, value)",
    "CAST(timestamp_ms AS STRING)",
    "count(*) OVER (PARTITION BY topic)",
)

_WITH_ESCAPES = (
    r"'a\tb'",
    r"regexp_replace(topic, '\\.', '-')",
)

_STATEMENTS = (
    "SELECT topic, size(collect_list(key)) AS a, count_if(key IS NULL) AS b,"
    " array_join(sort_array(collect_set(string(key))), ',') AS c, max_by(string(key), offset) AS d"
    " FROM records GROUP BY topic ORDER BY topic",
    "SELECT h.key AS k, count(*) AS n FROM (SELECT explode(headers) AS h FROM records)"
    " GROUP BY h.key ORDER BY k",
    "SELECT topic, count(*) AS n FROM records GROUP BY ALL ORDER BY topic DESC",
    "SELECT to_date(timestamp) AS d, count(*) AS n FROM records"
    " GROUP BY to_date(timestamp) ORDER BY d",
    "SELECT offset FROM records WHERE key LIKE 'k%' AND NOT topic RLIKE 'EU$' ORDER BY offset"
    " LIMIT 2 OFFSET 1",
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed")
    records = [
        {
            "source_id": "c1",
            "topic": "my.orders-EU" if offset % 2 else "orders",
            "partition": offset % 3,
            "offset": offset,
            "timestamp": _TIMES[offset % len(_TIMES)],
            "timestamp_ms": 1_767_323_045 + offset,
            "key": None if offset % 4 == 3 else b"k%d" % offset,
            "value": value,
            "headers": [{"key": "h", "value": b"v"}, {"key": "g", "value": None}][: offset % 3],
        }
        for offset, value in enumerate(_VALUES)
    ]
    for table in TABLES:
        rows = pa.Table.from_pylist(records if table.name == "records" else [], table.schema)
        write_deltalake(path / table.name, rows, partition_by=list(table.partition_by) or None)
    return path


@pytest.fixture
def duckdb(lake: Path, tmp_path: Path) -> Iterator[DuckDBQueries]:
    tables = LakeTables(str(lake), LocalStorage())
    with DuckDBQueries(tables, spill_folder=str(tmp_path)) as queries:
        yield queries


def _rows(answer: Answer) -> list[list[object]]:
    rows = (row for batch in answer.batches for row in batch.to_pylist())
    return [[*row.values()] for row in rows]


@pytest.mark.spark
@pytest.mark.parametrize("texts", [_EXPRESSIONS, _WITH_ESCAPES], ids=["all", "escapes"])
def test_both_engines_give_the_same_values(
    duckdb: DuckDBQueries, spark_session: SparkSession, lake: Path, texts: tuple[str, ...]
) -> None:
    columns = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
    query = f"SELECT {columns} FROM records ORDER BY offset"
    by_duckdb, by_spark = (
        _rows(queries.answer(query)) for queries in (duckdb, SparkQueries(spark_session, str(lake)))
    )
    assert len(by_duckdb) == len(_VALUES)
    by_column = zip(texts, zip(*by_duckdb, strict=True), zip(*by_spark, strict=True), strict=True)
    different = {
        text: [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
        for text, ours, theirs in by_column
        if ours != theirs
    }
    assert different == {}


@pytest.mark.spark
def test_both_engines_give_the_same_rows(
    duckdb: DuckDBQueries, spark_session: SparkSession, lake: Path
) -> None:
    spark = SparkQueries(spark_session, str(lake))
    for statement in _STATEMENTS:
        rows = _rows(duckdb.answer(statement))
        assert rows == _rows(spark.answer(statement)) != [], statement
