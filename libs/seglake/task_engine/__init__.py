"""Engines that run tasks: local processes, or Spark."""
