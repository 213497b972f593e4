"""Records read without tables."""
