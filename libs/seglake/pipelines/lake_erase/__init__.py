"""Erases records from a lake, by rules that also hold for later runs."""
