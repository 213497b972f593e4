"""Finds the log dirs of all sources of a run, each once. Effect: lists folders."""

from collections.abc import Sequence

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.log_dir_search import (
    Closed,
    FoundLogDir,
    Listings,
    find_log_dirs,
)
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, UnsupportedUriError
from seglake.storage.storage import Storage


def find_sources(
    sources: Sequence[str], storage: Storage, notes: list[str], unreadable: dict[str, str]
) -> list[FoundLogDir]:
    """The log dirs at or below the sources, in their order; a link to one of them is noted.

    Args:
        unreadable: folders below the sources that cannot be searched, and why; added to.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or its storage does not let
            us in.
        StorageError, StoreSilentError: it may be there another time.
    """
    found: dict[str, FoundLogDir] = {}
    parents: Listings = {}
    for source in sources:
        for log_dir in _log_dirs_of(source, storage, parents, unreadable):
            place = storage.without_links(log_dir.path)
            if place not in found:
                found[place] = log_dir
                continue
            known = found[place]
            if known.path != log_dir.path:
                notes.append(f"{log_dir.path} is the same folder as {known.path}: it is read once")
            for name, listing in log_dir.partition_folders.items():
                known.partition_folders.setdefault(name, listing)
            known.unreadable.update(log_dir.unreadable)
    return list(found.values())


def refused_or_failed(error: StorageError) -> Exception:
    """The error as that of the whole call: a wrong one where it will be the same another time."""
    if isinstance(error, RefusedError | NotFoundError):
        return WrongSourceError(f"the source is refused: {error}")
    return error


def _log_dirs_of(
    source: str, storage: Storage, parents: Listings, unreadable: dict[str, str]
) -> list[FoundLogDir]:
    closed: Closed = {}
    try:
        path = storage.locate(source)
        info = storage.info(path)
        if info is None:
            raise WrongSourceError(f"source {source} does not exist: check the path")
        if not info.is_folder:
            raise WrongSourceError(
                f"source {source} is a file: give a broker's log dir, a partition folder, or a "
                "folder above log dirs"
            )
        log_dirs = find_log_dirs(storage, path, parents, closed)
    except (RefusedError, NotFoundError, UnsupportedUriError) as error:
        raise WrongSourceError(f"the source is refused: {error}") from error
    if closed and not log_dirs:
        first = next(iter(closed.values()))
        raise refused_or_failed(first) from first
    unreadable |= {place: str(error) for place, error in closed.items()}
    if not log_dirs:
        raise WrongSourceError(
            f"source {source} holds no log dir of a Kafka broker: no folder below it has "
            "meta.properties, offset checkpoints, or partition folders with segments"
        )
    return log_dirs
