"""Iceberg metadata over a lake's data files. Only this package imports pyiceberg, an extra."""
