"""What lies on a broker's disk, byte by byte: layouts, and values read from them."""
