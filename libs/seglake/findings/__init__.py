"""Findings for a person to check: the catalogue of their kinds, and their values."""
