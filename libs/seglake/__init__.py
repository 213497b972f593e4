"""Turns raw Kafka log segments into Delta tables, without a broker.

    import seglake

    summary = seglake.ingest("/var/lib/kafka/data", "/data/lake", engine="local")
    print(summary.to_text())
    records = seglake.tables("/data/lake")["records"].to_pyarrow_table()

Each function does what the command of its name does, and takes the command's options as keywords.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seglake.errors import SeglakeError, WrongCallError
from seglake.version import __version__

if TYPE_CHECKING:
    from seglake.api import (
        AuditResult,
        audit,
        deserialize,
        erase,
        ingest,
        inspect,
        latest,
        maintain,
        register,
        replay,
        report,
        retake,
        schemas,
        tables,
    )

__all__ = [
    "AuditResult",
    "SeglakeError",
    "WrongCallError",
    "__version__",
    "audit",
    "deserialize",
    "erase",
    "ingest",
    "inspect",
    "latest",
    "maintain",
    "register",
    "replay",
    "report",
    "retake",
    "schemas",
    "tables",
]


def __dir__() -> list[str]:
    """List all names, also public ones that are imported only when they are used."""
    return [*globals(), *__all__]


# Any: the type of whatever has this name.
def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because tasks and commands need few of them."""
    if name in __all__:
        return getattr(import_module("seglake.api"), name)
    raise AttributeError(f"module 'seglake' has no attribute {name!r}")
