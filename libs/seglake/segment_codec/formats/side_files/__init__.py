"""Names in a log dir, and layouts of the small files beside the segments."""
