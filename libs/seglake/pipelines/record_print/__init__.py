"""Prints records of logs or of a lake as lines."""
