"""Converts log values to rows of the tables and back, and tells what the ledger covers."""
