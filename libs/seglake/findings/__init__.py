"""Findings that a person may have to look at: the catalogue of their kinds, and their values."""
