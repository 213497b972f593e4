"""A lake as one page to look at: runs, partitions and their offsets, damage, what to do."""
