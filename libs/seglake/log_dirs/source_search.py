"""Finds the log dirs of all sources of a run, each once. Effect: lists folders."""

from collections.abc import Sequence
from dataclasses import replace

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.log_dir_search import Closed, FoundLogDir, Listings, find_log_dirs
from seglake.log_dirs.unread_files import UnreadFiles, UnreadKind
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, UnsupportedUriError
from seglake.storage.storage import Storage


def find_sources(
    sources: Sequence[str],
    storage: Storage,
    notes: list[str],
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    """The log dirs at or below the sources, in their order; a link to one of them is noted.

    Args:
        unreadable: folders below the sources that cannot be searched, and why; added to.
        unread: files below them that are recognised and not read; added to.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or its storage does not let
            us in.
        StorageError, StoreSilentError: it may be there another time.
    """
    found: dict[str, FoundLogDir] = {}
    parents: Listings = {}
    for source in sources:
        for log_dir in _log_dirs_of(source, storage, parents, unreadable, unread):
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
            found[place] = replace(known, is_whole=known.is_whole or log_dir.is_whole)
    return list(found.values())


def refused_or_failed(error: StorageError) -> Exception:
    """The error as that of the whole call: a wrong one where it will be the same another time."""
    if isinstance(error, RefusedError | NotFoundError):
        return WrongSourceError(f"the source is refused: {error}")
    return error


def _log_dirs_of(
    source: str,
    storage: Storage,
    parents: Listings,
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
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
        log_dirs = find_log_dirs(storage, path, parents, closed, unread)
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
            f"{_instead(unread)}"
        )
    return log_dirs


def _instead(unread: Sequence[UnreadFiles]) -> str:
    """What a source without a log dir holds that could become one."""
    said = {
        UnreadKind.ARCHIVE: "archives ({}): unpack them",
        UnreadKind.TIER_OBJECT: "objects of a remote tier ({}), which are not read",
    }
    found = {files.kind: files for files in reversed(unread) if files.kind in said}
    listed = " and ".join(said[kind].format(files.example) for kind, files in found.items())
    return f". It holds {listed}" if listed else ""
