"""Ingests ranges again whose rows in the lake lost an election."""
