"""Many batches at a time: compiled loops, and the arrays that they read and write."""
