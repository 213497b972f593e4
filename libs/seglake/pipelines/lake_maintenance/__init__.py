"""Keeps a lake tidy: what it costs does not grow with the number of runs."""
