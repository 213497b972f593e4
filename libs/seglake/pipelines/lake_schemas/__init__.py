"""Lists and exports the schemas of the registries in a lake."""
