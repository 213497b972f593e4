"""The lock files: which packages in which versions, and their hashes."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
RUN_TIME = ROOT / "requirements.txt"
LOCKS = (
    ROOT / "requirements-build.txt",
    ROOT / "requirements-dev.txt",  # has all of the run time
    ROOT / "airflow_dags" / "requirements.txt",
)

_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\\n]+))?"
    r"(?P<hashes>(?:[ \\]*\n    --hash=sha256:[0-9a-f]{64})*)",
    re.MULTILINE,
)


class Pin(NamedTuple):
    """One version of a package, with the SHA-256 of each file that may be installed."""

    name: str
    version: str
    hashes: tuple[str, ...]
    marker: str | None

    @property
    def is_for_this_python(self) -> bool:
        return self.marker is None or Marker(self.marker).evaluate()


def pins_of(lock: Path) -> list[Pin]:
    """The pins of a lock file, in its order."""
    return [
        Pin(
            found["name"],
            found["version"],
            tuple(re.findall(r"sha256:([0-9a-f]{64})", found["hashes"])),
            found["marker"],
        )
        for found in _ENTRY.finditer(lock.read_text("utf-8"))
    ]


def versions_of(locks: Iterable[Path]) -> list[tuple[str, str]]:
    """Every version of every package that one of the lock files may install."""
    return sorted({(pin.name, pin.version) for lock in locks for pin in pins_of(lock)})
