"""The command that decodes batches above `limits.max_decompressed_batch_bytes`. Pure."""

import shlex
from collections.abc import Iterable

from seglake.settings.settings import MOST_DECOMPRESSED_BATCH_BYTES

HIGHEST_LIMIT = f"{MOST_DECOMPRESSED_BATCH_BYTES >> 30}GiB"


def replay_with_highest_limit(lake: str, log_dirs: Iterable[str] = ()) -> str:
    """Return a replay that decodes what the highest limit allows, in local processes.

    Args:
        log_dirs: where the batches lie; none if the lake has all their bytes.
    """
    sources = [word for log_dir in log_dirs for word in ("--source", log_dir)]
    limit = f"limits.max_decompressed_batch_bytes={HIGHEST_LIMIT}"
    words = ["seglake", "replay", "--lake", lake, *sources, "--engine", "local"]
    return shlex.join([*words, "--set", limit])
