"""SQL checks that every intact lake passes, and engines that run the SQL."""
