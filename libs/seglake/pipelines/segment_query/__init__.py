"""Reads records from segments without tables."""
