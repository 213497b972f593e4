"""Rejects a lake inside a source, also if links lead into the source."""

from seglake.log_dirs.discovery import Discovery
from seglake.log_dirs.errors import WrongSourceError
from seglake.storage.storage import Storage


def check_apart(discovery: Discovery, storage: Storage, lake_path: str) -> None:
    """Require that the lake is not inside a source, since sources are never written to.

    If the sources are single partition folders, the lake may be in their parent folder.

    Raises:
        WrongSourceError: the lake is inside a source.
    """
    place = storage.without_links(lake_path)
    found = [("folder of a remote tier", folder) for folder in discovery.tier_folders]
    for log_dir in discovery.log_dirs:
        names = log_dir.partition_folders
        if log_dir.is_parent_only:
            found += [("partition folder", storage.join(log_dir.path, name)) for name in names]
        else:
            found.append(("log dir", log_dir.path))
    for kind, folder in found:
        if f"{place}/".startswith(f"{storage.without_links(folder)}/"):
            raise WrongSourceError(
                f"the lake {lake_path} is inside the {kind} {folder}: give another folder, "
                "sources are never written to"
            )
