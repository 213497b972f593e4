"""Transactions of a log: open ones, ended ones, and the proofs. Pure."""
