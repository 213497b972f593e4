"""Prints records as lines: those of logs, and those of a lake."""
