"""What a run leaves for machines: events, a metrics file, lineage."""
