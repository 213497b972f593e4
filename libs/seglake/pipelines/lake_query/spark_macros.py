"""Macros that give DuckDB the functions of Spark SQL that people type. Pure.

DuckDB lacks the functions in `ADDED`. Both engines have those in `REPLACED` but answer differently:
they are defined unless DuckDB is asked for by name. Time patterns arrive in DuckDB's syntax:
`duckdb_text` translates them.
"""

from collections.abc import Iterator, Mapping

from seglake.pipelines.lake_query.record_views import UTF8_TEXT

_TEXT = (
    "CASE WHEN typeof(given) = 'BLOB' THEN"
    f" {UTF8_TEXT.format(bytes='try_cast(given AS BLOB)')}"
    " WHEN typeof(given) = 'TIMESTAMP WITH TIME ZONE' THEN left(given::VARCHAR, -3)"  # its +00
    " ELSE given::VARCHAR END"
)
_SUBSTRING = (
    "(given, start) AS system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END),"
    " (given, start, n) AS"
    " system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END, n)"
)
_DAYS_BETWEEN = (
    "(a, b) AS CAST(a AS DATE) - CAST(b AS DATE), (part, a, b) AS system.main.date_diff(part, a, b)"
)
_PART = (
    "CASE lower(part) WHEN 'mm' THEN 'month' WHEN 'mon' THEN 'month' WHEN 'yyyy' THEN 'year'"
    " WHEN 'yy' THEN 'year' WHEN 'dd' THEN 'day' ELSE part END"
)

ADDED: Mapping[str, str] = {
    "string": f"(given) AS {_TEXT}",
    "try_validate_utf8": f"(given) AS {_TEXT}",
    "is_valid_utf8": "(given) AS CASE WHEN given IS NOT NULL THEN string(given) IS NOT NULL END",
    "get_json_object": (
        "(given, path) AS CASE WHEN contains(path, '*')"
        " THEN error('DuckDB has no * in a path of get_json_object: use --engine spark')"
        " WHEN starts_with(path, '$') AND json_valid(string(given))"
        " THEN json_extract_string(string(given),"
        " system.main.regexp_replace(path, '\\[''([^'']*)''\\]', '.\"\\1\"', 'g')) END"
    ),
    "to_date": (
        "(given) AS CAST(given AS DATE), (given, pattern) AS CAST(strptime(given, pattern) AS DATE)"
    ),
    "date_format": ("(given, pattern) AS strftime(CAST(given AS TIMESTAMP), pattern)"),
    "from_unixtime": (
        "(seconds) AS strftime(make_timestamp(CAST(seconds AS BIGINT) * 1000000),"
        " '%Y-%m-%d %H:%M:%S'), (seconds, pattern) AS"
        " strftime(make_timestamp(CAST(seconds AS BIGINT) * 1000000), pattern)"
    ),
    "unix_timestamp": (
        "() AS CAST(floor(epoch(now())) AS BIGINT),"
        " (given) AS CAST(trunc(epoch(CAST(given AS TIMESTAMP))) AS BIGINT), (given, pattern) AS"
        " CAST(floor(epoch(strptime(given, pattern))) AS BIGINT)"
    ),
    "unix_seconds": "(given) AS CAST(floor(epoch(CAST(given AS TIMESTAMP))) AS BIGINT)",
    "unix_millis": (
        "(given) AS (epoch_us(CAST(given AS TIMESTAMP))"
        " - ((epoch_us(CAST(given AS TIMESTAMP)) % 1000) + 1000) % 1000) // 1000"
    ),
    "unix_micros": "(given) AS epoch_us(CAST(given AS TIMESTAMP))",
    "timestamp_seconds": "(n) AS make_timestamptz(CAST(n * 1000000 AS BIGINT))",
    "timestamp_millis": "(n) AS make_timestamptz(CAST(n * 1000 AS BIGINT))",
    "timestamp_micros": "(n) AS make_timestamptz(CAST(n AS BIGINT))",
    "current_timestamp": "() AS now()",
    "substring_index": (
        "(given, sign, n) AS CASE WHEN n > 0 THEN array_to_string(list_slice(string_split(given,"
        " sign), 1, n), sign) WHEN n < 0 THEN array_to_string(list_slice(string_split(given,"
        " sign), n, -1), sign) WHEN given IS NOT NULL AND sign IS NOT NULL THEN '' END"
    ),
    "add_months": "(given, n) AS CAST(CAST(given AS DATE) + to_months(CAST(n AS INTEGER)) AS DATE)",
    "locate": "(part, given) AS instr(string(given), part)",
    "startswith": "(given, part) AS starts_with(string(given), part)",
    "endswith": "(given, part) AS ends_with(string(given), part)",
    "nvl": "(a, b) AS coalesce(a, b)",
    "nvl2": "(a, b, c) AS CASE WHEN a IS NOT NULL THEN b ELSE c END",
    "isnotnull": "(given) AS given IS NOT NULL",
    "rlike": "(given, pattern) AS system.main.regexp_matches(string(given), pattern)",
    "not_rlike": "(given, pattern) AS NOT system.main.regexp_matches(string(given), pattern)",
    "regexp": "(given, pattern) AS system.main.regexp_matches(string(given), pattern)",
    "regexp_like": "(given, pattern) AS system.main.regexp_matches(string(given), pattern)",
    "size": "(given) AS len(given)",
    "array_size": "(given) AS len(given)",
    "array_join": "(given, sign) AS array_to_string(given, sign)",
    "sort_array": "(given) AS list_sort(given)",
    "explode": "(given) AS unnest(given)",
    "collect_list": "(given) AS coalesce(list(given) FILTER (WHERE given IS NOT NULL), [])",
    "collect_set": "(given) AS coalesce(list(DISTINCT given) FILTER (WHERE given IS NOT NULL), [])",
    "unbase64": "(given) AS from_base64(given)",
    "sha2": (
        "(given, bits) AS CASE WHEN bits IN (0, 256) THEN sha256(given)"
        " ELSE error('DuckDB has sha2 of 256 bits only: use --engine spark') END"
    ),
    "try_element_at": "(given, place) AS given[place]",
    "pmod": "(a, b) AS ((a % b) + b) % b",
}

REPLACED: Mapping[str, str] = {
    "length": (
        "(given) AS CASE WHEN typeof(given) = 'BLOB' THEN octet_length(try_cast(given AS BLOB))"
        " WHEN typeof(given) LIKE '%]' THEN error('length is of text and bytes: size(...) counts"
        " the elements of a list') ELSE system.main.length(CAST(given AS VARCHAR)) END"
    ),
    "dayofweek": "(given) AS date_part('dow', CAST(given AS TIMESTAMP)) + 1",
    "weekday": "(given) AS date_part('isodow', CAST(given AS TIMESTAMP)) - 1",
    "dayname": "(given) AS left(system.main.dayname(given), 3)",
    "monthname": "(given) AS left(system.main.monthname(given), 3)",
    "date_sub": "(given, days) AS CAST(given AS DATE) - CAST(days AS INTEGER)",
    "date_add": "(given, days) AS CAST(given AS DATE) + CAST(days AS INTEGER)",
    "datediff": _DAYS_BETWEEN,
    "date_diff": _DAYS_BETWEEN,
    "date_trunc": f"(part, given) AS system.main.date_trunc({_PART}, given)",
    "trunc": (
        f"(given) AS system.main.trunc(given), (given, part) AS"
        f" CAST(system.main.date_trunc({_PART}, CAST(given AS TIMESTAMP)) AS DATE)"
    ),
    "to_timestamp": (
        "(given) AS CASE WHEN typeof(given) = 'VARCHAR' OR typeof(given) LIKE 'DATE%'"
        " OR typeof(given) LIKE 'TIMESTAMP%' THEN CAST(CAST(given AS VARCHAR) AS TIMESTAMPTZ) ELSE"
        " make_timestamptz(CAST(CAST(CAST(given AS VARCHAR) AS DOUBLE) * 1000000 AS BIGINT)) END,"
        " (given, pattern) AS CAST(strptime(given, pattern) AS TIMESTAMPTZ)"
    ),
    "json_array_length": (
        "(given) AS CASE WHEN json_valid(string(given)) THEN CASE WHEN json_type(string(given)) ="
        " 'ARRAY' THEN system.main.json_array_length(string(given)) END END"
    ),
    "element_at": "(given, place) AS given[place]",
    "log": "(a) AS ln(a), (base, a) AS ln(a) / ln(base)",
    "regexp_extract": (
        "(given, pattern) AS system.main.regexp_extract(string(given), pattern, 1),"
        " (given, pattern, part) AS system.main.regexp_extract(string(given), pattern, part)"
    ),
    "regexp_replace": (
        "(given, pattern, other) AS system.main.regexp_replace(string(given), pattern,"
        " system.main.regexp_replace(other, '[$]([0-9])', '\\\\\\1', 'g'), 'g')"
    ),
    "substring": _SUBSTRING,
    "substr": _SUBSTRING,
    "split": "(given, pattern) AS string_split_regex(string(given), pattern)",
    "slice": (
        "(given, start, n) AS list_slice(given, start,"
        " CASE WHEN start < 0 AND start + n >= 0 THEN -1 ELSE start + n - 1 END)"
    ),
}


AGGREGATING = frozenset({"collect_list", "collect_set"})
"""Names of the macros that call an aggregate function."""


def macros(*, replaces: bool) -> Iterator[str]:
    """Yield the statements that define the macros.

    Args:
        replaces: True redefines DuckDB's own functions of the same name.
    """
    for name, text in {**ADDED, **(REPLACED if replaces else {})}.items():
        yield f"CREATE MACRO {name}{text}"
