"""What must hold of a lake's tables, as SQL, and engines that run it."""
