"""Recognizes contents that a person should look at. Pure."""

from seglake.pipelines.segment_inspect.batch_facts import DefectFound
from seglake.pipelines.segment_inspect.contents import (
    Content,
    FileFound,
    HoleFound,
    LogSummary,
    SideFileSummary,
    TailFound,
)
from seglake.segment_codec.formats.errors import TailKind
from seglake.segment_codec.formats.side_files.log_dir import FolderKind, parse_folder_name


def needs_look(content: Content) -> bool:
    """Return whether a person should look at a content.

    These are damage, an unexplained hole, an end that is not padding, and an unreadable file.
    """
    match content:
        case DefectFound():
            return True
        case FileFound() | SideFileSummary(FileFound()):
            file = content if isinstance(content, FileFound) else content.file
            return file.damage is not None
        case HoleFound():
            return not content.is_explained
        case TailFound():
            return content.tail.kind is not TailKind.ZERO
        case LogSummary():
            return bool(content.notes) and not _is_given_up(content.path)
        case _:
            return False


def _is_given_up(path: str) -> bool:
    """Return whether a broker had marked the folder for deletion."""
    folder = parse_folder_name(path.rsplit("/", 1)[-1])
    return folder is not None and folder.kind is not FolderKind.LIVE
