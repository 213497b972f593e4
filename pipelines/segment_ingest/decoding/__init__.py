"""The task: byte ranges to rows, and the rows to files."""
