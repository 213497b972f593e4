"""Frames of keys and values: which schema wrote them, and where their body begins."""
