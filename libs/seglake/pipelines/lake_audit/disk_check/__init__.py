"""Compares a lake with the disks that it was made from."""
