"""Compiled loops over many values at once."""
