"""Objects of Aiven's tiered storage: names, manifests, and the chunks of a segment."""
