"""The command line: arguments, settings files, sessions and exit codes."""

VERSION = "0.1.0"
