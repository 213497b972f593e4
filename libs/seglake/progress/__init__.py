"""Progress of a run: what to show, when, and how."""
