"""How transactions ended, and which have not."""
