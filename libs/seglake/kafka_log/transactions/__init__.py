"""Transactions of a log: which are open, which ended, and what proves it. Pure."""
