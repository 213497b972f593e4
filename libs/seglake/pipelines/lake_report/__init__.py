"""Shows a lake as one page: runs, partitions with their offsets, damage, and remedies."""
