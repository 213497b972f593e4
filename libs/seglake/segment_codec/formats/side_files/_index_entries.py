"""Checks index files, which have entries of one size and maybe zeros after them."""


def length_damage(size_bytes: int, entry_bytes: int) -> str | None:
    """Return why a file's length is wrong, as text; None if it is a multiple of the entry size.

    >>> length_damage(17, 8)
    '17 bytes: 1 more than whole entries of 8'
    """
    surplus = size_bytes % entry_bytes
    if not surplus:
        return None
    return f"{size_bytes} bytes: {surplus} more than whole entries of {entry_bytes}"


def without_zero_tail(data: bytes | memoryview, entry_bytes: int) -> bytes:
    """Return an index file's bytes without the entries at its end that are all zeros."""
    used_bytes = len(bytes(data).rstrip(b"\0"))
    whole_entries = min(-(-used_bytes // entry_bytes), len(data) // entry_bytes)
    return bytes(data[: whole_entries * entry_bytes])
