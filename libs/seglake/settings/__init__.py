"""The settings of every command."""
