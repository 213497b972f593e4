"""Recognises the folders of remote tiers by their names."""

from seglake.log_dirs.aiven_layout import AivenLayout
from seglake.log_dirs.tier_layouts import LocalLayout, TierFolder, TierLayout
from seglake.storage.storage import FileInfo

LAYOUTS: tuple[TierLayout, ...] = (LocalLayout(), AivenLayout())


def tier_folder(path: str, entries: tuple[FileInfo, ...]) -> TierFolder | None:
    """Return a folder of a remote tier with its layout; None if no known layout fits."""
    for layout in LAYOUTS:
        if layout.holds(path, entries):
            return TierFolder(path, layout, entries)
    return None
