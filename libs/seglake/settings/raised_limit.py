"""The command that decodes batches above `limits.max_decompressed_batch_bytes`."""

import shlex
from collections.abc import Iterable

from seglake.settings.settings import MOST_DECOMPRESSED_BATCH_BYTES

HIGHEST_LIMIT = f"{MOST_DECOMPRESSED_BATCH_BYTES >> 30}GiB"


def replay_with_highest_limit(lake: str, log_dirs: Iterable[str] = ()) -> str:
    """Return a `replay` command with the highest limit of decompressed bytes, in local processes.

    Args:
        lake: the lake as the person gave it.
        log_dirs: folders with the batches; none if the lake keeps all of their bytes.
    """
    sources = [word for log_dir in log_dirs for word in ("--source", log_dir)]
    limit = f"limits.max_decompressed_batch_bytes={HIGHEST_LIMIT}"
    words = ["seglake", "replay", "--lake", lake, *sources, "--engine", "local"]
    return shlex.join([*words, "--set", limit])
