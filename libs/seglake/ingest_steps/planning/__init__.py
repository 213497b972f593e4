"""What a run is to read."""
