"""Steps of an ingest, a replay, a retake and a query, from listed partitions to commits."""
