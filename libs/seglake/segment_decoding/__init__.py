"""Tasks that decode segments to Parquet files, and their requests and reports."""
