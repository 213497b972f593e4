"""Whose SQL registers a lake. Needs nothing, so that a command line can name them at once."""

from enum import StrEnum


class CatalogDialect(StrEnum):
    """Spark's statements are Unity Catalog's and Databricks' too."""

    SPARK = "spark"
    TRINO = "trino"
    ATHENA = "athena"
