"""Ingests anew what lost an election."""
