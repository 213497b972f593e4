"""Compiled loops over many batches at a time, and the arrays that they read and write."""
