"""Turns reports of tasks into the commit of a wave."""
