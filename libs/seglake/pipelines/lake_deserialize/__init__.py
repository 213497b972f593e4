"""Decodes keys and values of a lake with the schemas of its registries."""
