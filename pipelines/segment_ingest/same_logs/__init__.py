"""Copies of one log: which is read, what they share, and where they contradict each other."""
