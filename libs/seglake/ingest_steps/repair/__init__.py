"""Fills gaps from other replicas and from quarantined bytes."""
