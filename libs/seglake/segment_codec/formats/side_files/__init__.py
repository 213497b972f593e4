"""Names in a log dir, and the small files beside the segments."""
