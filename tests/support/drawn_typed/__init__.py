"""Drawn clusters with a registry and typed topics, and what other libraries read in them."""
