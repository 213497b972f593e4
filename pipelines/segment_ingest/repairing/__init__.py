"""Gaps of the lake, filled from other copies and from kept bytes."""
