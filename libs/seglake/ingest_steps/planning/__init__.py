"""Plans which offsets a run reads, and from which replica."""
