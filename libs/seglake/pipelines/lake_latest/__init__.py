"""Keeps tables of latest state: the newest record of each key."""
