"""Questions to the tables, in DuckDB or in Spark, with views for what people ask most."""
