"""Imports the decoder and loads its compiled loops, so that forked processes have them.

The import itself does the work, because a fork server only imports modules. It starts no thread.
"""

from seglake.segment_codec.warm import warm
from seglake.segment_decoding import decode

__all__ = ["decode"]

warm()
