"""Finds how the transactions of a log ended, which ones are open, and what proves it."""
