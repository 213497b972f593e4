"""Everything that a person may have to look at: the catalogue of its kinds, and its values."""
