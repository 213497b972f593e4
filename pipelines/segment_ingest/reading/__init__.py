"""Reads records for one query, without tables: the same plan and decoder, and no lake."""
