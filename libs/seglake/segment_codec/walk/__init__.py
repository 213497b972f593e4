"""Walks through a segment from its first byte to its last; finds batches, damage and order."""
