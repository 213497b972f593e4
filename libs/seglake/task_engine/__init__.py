"""Runs tasks: in local processes, or on Spark."""
