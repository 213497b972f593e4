"""Compiled loops over many batches, and the arrays that they read and write."""
