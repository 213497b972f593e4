"""The tasks: segments in, Parquet files out."""
