"""Environment of a run: settings files, credentials, Java, JARs, Spark's start."""
