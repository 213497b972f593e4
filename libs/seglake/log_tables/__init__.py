"""Between log values and rows of the tables, and what the ledger covers."""
