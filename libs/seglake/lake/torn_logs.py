"""What a power cut may leave of a table's log on a local disk: damaged files. Effect.

An entry is synced before anybody is told of its commit, and a checkpoint before old entries go:
what is cut short, or has zeros in it, was never relied on.
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
"""In a commit's info: how many lines follow it. delta-rs puts the generations last."""


def refuse_cut_entry(storage: Storage, path: str) -> None:
    """See that a log entry is whole; one that another tool wrote is, if its lines are.

    Readers take an entry that ends between two lines for a whole one: its data files would be in
    the table, and not the generations that say so.

    Raises:
        TornLogError: it is not.
    """
    with contextlib.suppress(NotFoundError):  # expired: only checkpoints hold it by now
        if not _is_whole_entry(storage.read_bytes(path)):
            raise TornLogError(path=path, is_commit=True)


def refuse_torn_log(storage: Storage, log_folder: str) -> None:
    """Name the file that keeps a table from being opened, if it is damaged.

    Raises:
        TornLogError: the newest entry or checkpoint is; or the hint names none that is there.
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
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return False
    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    counts = [int(info[ACTION_COUNT]) for info in infos if ACTION_COUNT in info]
    return bool(actions) and all(count == len(actions) - 1 for count in counts)


def _is_parquet(content: bytes) -> bool:
    try:
        pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        return False
    return True
