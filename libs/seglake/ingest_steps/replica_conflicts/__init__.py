"""Finds replicas that contradict each other or the lake."""
