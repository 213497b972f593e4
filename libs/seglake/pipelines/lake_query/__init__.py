"""Queries over the tables, in DuckDB or in Spark, with views for the most frequent questions."""
