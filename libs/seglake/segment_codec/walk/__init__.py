"""From the first byte of a segment to the last: batches, damage, order."""
