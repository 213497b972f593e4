"""Imports the decoder and loads its kernels, in the process that workers are forked from.

Effect on import: such a process only imports modules. It starts no thread.
"""

from seglake.segment_codec.warm import warm
from seglake.segment_decoding import decode

__all__ = ["decode"]

warm()
