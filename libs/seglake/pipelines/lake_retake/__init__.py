"""Ingests again the ranges whose rows in the lake lost an election."""
