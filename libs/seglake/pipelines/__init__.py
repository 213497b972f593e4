"""The pipelines: one folder each, named for what it does."""
