"""Proves from the tables alone that every covered offset is accounted for."""
