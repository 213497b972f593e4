"""Fills gaps of a lake from quarantined bytes and from other replicas."""
