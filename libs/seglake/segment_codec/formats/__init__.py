"""Byte layouts of the files on a broker's disk, and values read from them."""
