"""Walks through a segment from its first byte to its last, and finds batches, damage and order."""
