"""Replicas that contradict each other or the lake."""
