"""Steps that an ingest, a replay, a retake and a query share: from listing to commit."""
