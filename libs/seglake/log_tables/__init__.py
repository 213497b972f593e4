"""Converts a log's values to table rows and back, and computes which offsets are ingested."""
