"""Layouts of the files on a broker's disk, byte by byte, and values read from them."""
