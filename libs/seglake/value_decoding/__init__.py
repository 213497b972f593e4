"""Tasks that decode keys and values of `records` into files of the typed tables."""
