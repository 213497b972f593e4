"""Finds how a log's transactions ended, which are open, and the proofs."""
