"""Imports what decoding needs and loads its kernels, for processes that workers are forked from.

Effect on import, since that is what such a process does. It starts no thread.
"""

from seglake.segment_codec.warm import warm
from seglake.segment_decoding import decode

__all__ = ["decode"]

warm()
