"""Detects files of a table's log that a power cut has damaged on a local disk.

A log entry is synced before its run reports the commit, and a checkpoint is synced before old
entries are deleted. So no run has relied on a file that is truncated or has zeros in it.
"""

import contextlib
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.lake.errors import TornLogError
from seglake.lake.lake_folder import entries_of
from seglake.lake.table_log import HINT
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import Storage

ACTION_COUNT = "action_count"
"""Key in a commit's info: number of lines that follow the info in the log entry."""


def refuse_cut_entry(storage: Storage, path: str) -> None:
    """Reject a truncated log entry.

    Delta readers accept an entry that is truncated between two lines: the table would have the data
    files without the generations. Only seglake's own entries state their number of lines.

    Raises:
        TornLogError: the entry is truncated.
    """
    with contextlib.suppress(NotFoundError):  # a checkpoint includes deleted entries
        if not _is_whole_entry(storage.read_bytes(path)):
            raise TornLogError(path=path, is_commit=True)


def refuse_torn_log(storage: Storage, log_folder: str) -> None:
    """Reject a log with a damaged file that keeps a table from being opened.

    Raises:
        TornLogError: the newest entry or checkpoint is damaged, or `_last_checkpoint` exists
            without a checkpoint.
    """
    paths = {info.name: info.path for info in entries_of(storage, log_folder)}
    commits = [name for name in paths if name.endswith(".json") and name[:20].isdigit()]
    checkpoints = [name for name in paths if ".checkpoint." in name and name[:20].isdigit()]
    if commits:
        refuse_cut_entry(storage, paths[max(commits)])
    if checkpoints and not _is_parquet(storage.read_bytes(paths[max(checkpoints)])):
        raise TornLogError(path=paths[max(checkpoints)], is_commit=False)
    if not checkpoints and HINT in paths:
        raise TornLogError(path=paths[HINT], is_commit=False)


def _is_whole_entry(content: bytes) -> bool:
    """Return whether an entry's lines are all valid JSON and as many as its commit info says."""
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return False
    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    counts = [int(info[ACTION_COUNT]) for info in infos if ACTION_COUNT in info]
    return bool(actions) and all(count == len(actions) - 1 for count in counts)


def _is_parquet(content: bytes) -> bool:
    """Return whether bytes are a readable Parquet file."""
    try:
        pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        return False
    return True
