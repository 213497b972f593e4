"""What a run tells."""
