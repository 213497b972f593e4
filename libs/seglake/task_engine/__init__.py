"""Engines that run tasks in local processes or on Spark."""
