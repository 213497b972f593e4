"""Many random schemas, values and damaged bytes, read by seglake and by other libraries."""
