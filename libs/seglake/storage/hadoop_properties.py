"""Hadoop's properties, as Spark and Hadoop clients use them: addresses of stores, and secrets.

Other modules read the properties from files and from Spark's configuration. No value is printed
here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HadoopProperties:
    """Names, such as `fs.s3a.endpoint`, and values; it pickles, and its repr hides the values."""

    _values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> str | None:
        """Return a property's value without surrounding blanks; None if it is empty or not set."""
        return self._values.get(name, "").strip() or None

    def get_of_bucket(self, bucket: str, name: str) -> str | None:
        """Return `fs.s3a.bucket.BUCKET.NAME`, else `fs.s3a.NAME`, as Hadoop's S3A does."""
        return self.get(f"fs.s3a.bucket.{bucket}.{name}") or self.get(f"fs.s3a.{name}")

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the properties."""
        return iter(self._values)
