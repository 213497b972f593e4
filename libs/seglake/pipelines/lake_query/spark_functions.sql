-- Functions of Spark that people type and DuckDB lacks. `duckdb_tree` has translated patterns of
-- times to DuckDB's syntax before.

-- Bytes that are not UTF-8 become null. The call is inside of a list, because TRY allows no aggregate
-- and no subquery.
CREATE MACRO string(given) AS CASE
  WHEN typeof(given) = 'BLOB'
    THEN list_transform([try_cast(given AS BLOB)], lambda each: try(decode(each)))[1]
  WHEN typeof(given) = 'TIMESTAMP WITH TIME ZONE' THEN left(given::VARCHAR, -3)  -- its +00
  ELSE given::VARCHAR END;
CREATE MACRO try_validate_utf8(given) AS string(given);
CREATE MACRO is_valid_utf8(given) AS CASE WHEN given IS NOT NULL THEN string(given) IS NOT NULL END;
CREATE MACRO get_json_object(given, path) AS CASE
  WHEN contains(path, '*')
    THEN error('DuckDB has no * in a path of get_json_object: use --engine spark')
  WHEN starts_with(path, '$') AND json_valid(string(given))
    THEN json_extract_string(string(given),
      system.main.regexp_replace(path, '\[''([^'']*)''\]', '."\1"', 'g')) END;

CREATE MACRO to_date
  (given) AS CAST(given AS DATE),
  (given, pattern) AS CAST(strptime(given, pattern) AS DATE);
CREATE MACRO date_format(given, pattern) AS strftime(CAST(given AS TIMESTAMP), pattern);
CREATE MACRO from_unixtime
  (seconds) AS
    strftime(make_timestamp(CAST(seconds AS BIGINT) * 1000000), '%Y-%m-%d %H:%M:%S'),
  (seconds, pattern) AS strftime(make_timestamp(CAST(seconds AS BIGINT) * 1000000), pattern);
CREATE MACRO unix_timestamp
  () AS CAST(floor(epoch(now())) AS BIGINT),
  (given) AS CAST(trunc(epoch(CAST(given AS TIMESTAMP))) AS BIGINT),
  (given, pattern) AS CAST(floor(epoch(strptime(given, pattern))) AS BIGINT);
CREATE MACRO unix_seconds(given) AS CAST(floor(epoch(CAST(given AS TIMESTAMP))) AS BIGINT);
CREATE MACRO unix_millis(given) AS (epoch_us(CAST(given AS TIMESTAMP))
  - ((epoch_us(CAST(given AS TIMESTAMP)) % 1000) + 1000) % 1000) // 1000;
CREATE MACRO unix_micros(given) AS epoch_us(CAST(given AS TIMESTAMP));
CREATE MACRO timestamp_seconds(n) AS make_timestamptz(CAST(n * 1000000 AS BIGINT));
CREATE MACRO timestamp_millis(n) AS make_timestamptz(CAST(n * 1000 AS BIGINT));
CREATE MACRO timestamp_micros(n) AS make_timestamptz(CAST(n AS BIGINT));
CREATE MACRO current_timestamp() AS now();
CREATE MACRO add_months(given, n) AS
  CAST(CAST(given AS DATE) + to_months(CAST(n AS INTEGER)) AS DATE);

CREATE MACRO substring_index(given, sign, n) AS CASE
  WHEN n > 0 THEN array_to_string(list_slice(string_split(given, sign), 1, n), sign)
  WHEN n < 0 THEN array_to_string(list_slice(string_split(given, sign), n, -1), sign)
  WHEN given IS NOT NULL AND sign IS NOT NULL THEN '' END;
CREATE MACRO locate(part, given) AS instr(string(given), part);
CREATE MACRO startswith(given, part) AS starts_with(string(given), part);
CREATE MACRO endswith(given, part) AS ends_with(string(given), part);
CREATE MACRO rlike(given, pattern) AS system.main.regexp_matches(string(given), pattern);
CREATE MACRO not_rlike(given, pattern) AS NOT system.main.regexp_matches(string(given), pattern);
CREATE MACRO regexp(given, pattern) AS system.main.regexp_matches(string(given), pattern);
CREATE MACRO regexp_like(given, pattern) AS system.main.regexp_matches(string(given), pattern);
CREATE MACRO unbase64(given) AS from_base64(given);
CREATE MACRO sha2(given, bits) AS CASE WHEN bits IN (0, 256) THEN sha256(given)
  ELSE error('DuckDB has sha2 of 256 bits only: use --engine spark') END;

CREATE MACRO nvl(a, b) AS coalesce(a, b);
CREATE MACRO nvl2(a, b, c) AS CASE WHEN a IS NOT NULL THEN b ELSE c END;
CREATE MACRO isnotnull(given) AS given IS NOT NULL;
CREATE MACRO pmod(a, b) AS ((a % b) + b) % b;

CREATE MACRO size(given) AS len(given);
CREATE MACRO array_size(given) AS len(given);
CREATE MACRO array_join(given, sign) AS array_to_string(given, sign);
CREATE MACRO sort_array(given) AS list_sort(given);
CREATE MACRO explode(given) AS unnest(given);
CREATE MACRO try_element_at(given, place) AS given[place];
CREATE MACRO collect_list(given) AS coalesce(list(given) FILTER (WHERE given IS NOT NULL), []);
CREATE MACRO collect_set(given) AS
  coalesce(list(DISTINCT given) FILTER (WHERE given IS NOT NULL), []);
