"""What is due, in which pieces, and whether what came of it adds up."""
