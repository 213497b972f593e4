"""Keeps a lake's cost independent of the number of runs."""
