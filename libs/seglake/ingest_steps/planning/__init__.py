"""Plans the reading of a run."""
