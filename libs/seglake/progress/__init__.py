"""Progress of a run: what is shown, when, and how."""
