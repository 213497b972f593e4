"""Records of runs for machines: events, a metrics file, lineage."""
