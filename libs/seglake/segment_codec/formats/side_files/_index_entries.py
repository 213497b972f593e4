"""Checks of the form of index files: entries of one size, perhaps followed by zeros."""


def length_damage(size_bytes: int, entry_bytes: int) -> str | None:
    """Return the fault in the length of a file; None if it has whole entries only.

    >>> length_damage(17, 8)
    '17 bytes: 1 more than whole entries of 8'
    """
    surplus = size_bytes % entry_bytes
    if not surplus:
        return None
    return f"{size_bytes} bytes: {surplus} more than whole entries of {entry_bytes}"


def without_zero_tail(data: bytes | memoryview, entry_bytes: int) -> bytes:
    """Return the whole entries up to the last entry that is not all zeros."""
    used_bytes = len(bytes(data).rstrip(b"\0"))
    whole_entries = min(-(-used_bytes // entry_bytes), len(data) // entry_bytes)
    return bytes(data[: whole_entries * entry_bytes])
