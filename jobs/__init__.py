"""The command line: arguments, settings files, sessions and exit codes."""
