"""Detects files of a table's log that a power cut has damaged on a local disk. Effect.

An entry is synced before its run reports the commit, and a checkpoint before old entries are
deleted: so nobody has relied on a file that is cut short or has zeros in it.
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
"""Key in a commit's info: the number of lines after it. delta-rs writes the generations last."""


def refuse_cut_entry(storage: Storage, path: str) -> None:
    """Refuse a log entry that is cut short; one of another tool is whole if its lines are.

    Readers take an entry that ends between two lines for a whole one: the table would have its data
    files, but not its generations.

    Raises:
        TornLogError: the entry is cut short.
    """
    with contextlib.suppress(NotFoundError):  # an expired entry is in a checkpoint
        if not _is_whole_entry(storage.read_bytes(path)):
            raise TornLogError(path=path, is_commit=True)


def refuse_torn_log(storage: Storage, log_folder: str) -> None:
    """Raise an error that names the damaged file that keeps a table from being opened, if any.

    Raises:
        TornLogError: the newest entry or checkpoint is damaged, or the hint names a missing one.
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
    """Return whether an entry has valid lines, as many as its info says."""
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
