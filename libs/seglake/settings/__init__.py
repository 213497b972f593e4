"""Settings of all commands."""
