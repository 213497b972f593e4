"""Brokers' log dirs: finds them, lists their segments, reads headers and side files."""
