"""Finds brokers' log dirs, lists their segments, and reads headers and side files."""
