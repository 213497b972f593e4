"""Progress of a run: its content, timing and form."""
