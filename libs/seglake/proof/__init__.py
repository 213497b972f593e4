"""Conditions of sound tables, as SQL, and engines that run the SQL."""
