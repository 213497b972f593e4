-- Functions that the engines answer differently; these macros make DuckDB answer like Spark.

CREATE MACRO length(given) AS CASE
  WHEN typeof(given) = 'BLOB' THEN octet_length(try_cast(given AS BLOB))
  WHEN typeof(given) LIKE '%]'
    THEN error('length is of text and bytes: size(...) counts the elements of a list')
  ELSE system.main.length(CAST(given AS VARCHAR)) END;
CREATE MACRO substring
  (given, start) AS system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END),
  (given, start, n) AS system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END, n);
CREATE MACRO substr
  (given, start) AS system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END),
  (given, start, n) AS system.main.substring(given, CASE WHEN start = 0 THEN 1 ELSE start END, n);
CREATE MACRO split(given, pattern) AS string_split_regex(string(given), pattern);
CREATE MACRO regexp_extract
  (given, pattern) AS system.main.regexp_extract(string(given), pattern, 1),
  (given, pattern, part) AS system.main.regexp_extract(string(given), pattern, part);
CREATE MACRO regexp_replace(given, pattern, other) AS system.main.regexp_replace(
  string(given), pattern, system.main.regexp_replace(other, '[$]([0-9])', '\\\1', 'g'), 'g');
CREATE MACRO json_array_length(given) AS CASE WHEN json_valid(string(given)) THEN
  CASE WHEN json_type(string(given)) = 'ARRAY'
    THEN system.main.json_array_length(string(given)) END END;

CREATE MACRO dayofweek(given) AS date_part('dow', CAST(given AS TIMESTAMP)) + 1;
CREATE MACRO weekday(given) AS date_part('isodow', CAST(given AS TIMESTAMP)) - 1;
CREATE MACRO dayname(given) AS left(system.main.dayname(given), 3);
CREATE MACRO monthname(given) AS left(system.main.monthname(given), 3);
CREATE MACRO date_sub(given, days) AS CAST(given AS DATE) - CAST(days AS INTEGER);
CREATE MACRO date_add(given, days) AS CAST(given AS DATE) + CAST(days AS INTEGER);
CREATE MACRO datediff
  (a, b) AS CAST(a AS DATE) - CAST(b AS DATE),
  (part, a, b) AS system.main.date_diff(part, a, b);
CREATE MACRO date_diff
  (a, b) AS CAST(a AS DATE) - CAST(b AS DATE),
  (part, a, b) AS system.main.date_diff(part, a, b);
CREATE MACRO name_of_part(part) AS CASE lower(part)
  WHEN 'mm' THEN 'month' WHEN 'mon' THEN 'month' WHEN 'yyyy' THEN 'year' WHEN 'yy' THEN 'year'
  WHEN 'dd' THEN 'day' ELSE part END;
CREATE MACRO date_trunc(part, given) AS system.main.date_trunc(name_of_part(part), given);
CREATE MACRO trunc
  (given) AS system.main.trunc(given),
  (given, part) AS
    CAST(system.main.date_trunc(name_of_part(part), CAST(given AS TIMESTAMP)) AS DATE);
CREATE MACRO to_timestamp
  (given) AS CASE
    WHEN typeof(given) = 'VARCHAR' OR typeof(given) LIKE 'DATE%' OR typeof(given) LIKE 'TIMESTAMP%'
      THEN CAST(CAST(given AS VARCHAR) AS TIMESTAMPTZ)
    ELSE make_timestamptz(CAST(CAST(CAST(given AS VARCHAR) AS DOUBLE) * 1000000 AS BIGINT)) END,
  (given, pattern) AS CAST(strptime(given, pattern) AS TIMESTAMPTZ);

CREATE MACRO element_at(given, place) AS given[place];
CREATE MACRO slice(given, start, n) AS list_slice(given, start,
  CASE WHEN start < 0 AND start + n >= 0 THEN -1 ELSE start + n - 1 END);
CREATE MACRO log
  (a) AS ln(a),
  (base, a) AS ln(a) / ln(base);
