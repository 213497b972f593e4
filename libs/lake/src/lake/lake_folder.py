"""What a folder holds that is to be a lake, and whether its storage lets us in. Effect."""

import contextlib
from collections.abc import Iterator

from lake.errors import LakeRefusedError, RefusedError
from lake.storage import Storage
from lake.tables import RECORDS

SUCCESS = "_SUCCESS"
"""Comes last into a conversion to plain Parquet, and says that all of it was done."""


@contextlib.contextmanager
def opening(lake_path: str) -> Iterator[None]:
    """Tell what is refused before anything was touched from what is refused later in a run.

    Raises:
        LakeRefusedError: the storage does not let us in.
    """
    try:
        yield
    except RefusedError as error:
        raise LakeRefusedError(path=lake_path, reason=str(error)) from error


def holds_conversion(storage: Storage, path: str) -> bool:
    """Whether a folder without tables is a whole conversion; others leave such a mark too."""
    named = [storage.info(storage.join(path, name)) for name in (SUCCESS, RECORDS.name)]
    return all(info is not None for info in named)
