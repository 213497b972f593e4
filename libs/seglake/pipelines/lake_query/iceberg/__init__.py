"""Iceberg's metadata over the data files of a lake. The only importer of pyiceberg, an extra."""
