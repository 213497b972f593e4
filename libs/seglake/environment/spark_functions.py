"""Effect: says which functions Spark has, from PySpark's files: its import takes a second."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_LISTED = re.compile(r'^    "(\w+)",', re.MULTILINE)
# Of SQL only.
_CASTS = frozenset({"string", "binary", "long", "int", "double", "boolean", "timestamp", "date"})


def has_function(name: str) -> bool:
    """Whether Spark SQL has a function of a name, in small letters."""
    return name in _names()


@cache
def _names() -> frozenset[str]:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return _CASTS
    listing = Path(found.origin).parent / "sql" / "functions" / "__init__.py"
    return _CASTS.union(name.casefold() for name in _LISTED.findall(listing.read_text("utf-8")))
