"""Imports what decoding needs and loads its kernels, for processes that workers are forked from.

Effect on import, since that is what such a process does. It starts no thread.
"""

from seglake.pipelines.segment_ingest.decoding import decode
from seglake.segment_codec.warm import warm

__all__ = ["decode"]

warm()
