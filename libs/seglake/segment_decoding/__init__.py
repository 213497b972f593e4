"""Tasks that decode segments to Parquet files, with their requests and reports."""
