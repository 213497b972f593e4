"""Where something was measured, and where it is shown."""

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from bench.processes import ROOT

PAGE = ROOT / "tests" / "bench" / "results.md"
_END = "<!-- up to here -->"


def machine() -> str:
    """Its processor, cores, memory and system."""
    models = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = models[0] if models else platform.machine()
    cores = f"{os.cpu_count()} cores"
    return f"{model}, {cores}, {memory_gib:.0f} GiB, Linux {platform.release()}"


def today() -> str:
    """As people write it."""
    date = datetime.now(UTC).date()
    return f"{date.day} {date:%B %Y}"


def updated(document: str, text: str, command: str) -> str:
    """The document with a text in the part that a command writes, in place of what was there."""
    begin = f"<!-- {command} writes this -->"
    before, _, rest = document.partition(begin)
    _, _, after = rest.partition(_END)
    return f"{before}{begin}\n\n{text}\n\n{_END}{after}"
