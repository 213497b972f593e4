"""Makes the summary of a run."""
