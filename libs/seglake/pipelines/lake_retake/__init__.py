"""Ingests ranges again whose rows lost an election."""
