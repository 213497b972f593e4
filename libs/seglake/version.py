"""The version of this library, said once."""

__version__ = "0.1.0"
