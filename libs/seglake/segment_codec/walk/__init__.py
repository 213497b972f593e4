"""Walk through a segment from its first byte to its last: batches, damage, order."""
