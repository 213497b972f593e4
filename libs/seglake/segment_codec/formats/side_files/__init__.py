"""Names of files in a log dir, and layouts of the side files of segments."""
