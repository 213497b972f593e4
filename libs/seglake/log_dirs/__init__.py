"""Finds brokers' log dirs, lists their segments, and reads batch headers and side files."""
