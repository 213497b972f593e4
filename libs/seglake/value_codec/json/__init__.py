"""Values written as JSON: types found in them or taken from a JSON Schema, and their columns."""
