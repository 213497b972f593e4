"""Commits a wave (the segment data in one commit) from the tasks' reports."""
