"""Explains why a file cannot be a source, and what to do."""

import shlex

from seglake.segment_codec.formats.side_files.log_dir import FileKind, parse_file_name
from seglake.segment_codec.formats.side_files.unread_names import (
    parse_archive_name,
    parse_compressed_name,
)

_FOLDERS = "a broker's log dir, a partition folder, or a folder above log dirs"


def why_no_source(source: str) -> str:
    """Return why a file with this name cannot be a source, and what to do."""
    name, quoted = source.rstrip("/").rpartition("/")[2], shlex.quote(source)
    file = parse_file_name(name)
    if file is not None and file.kind is FileKind.LOG:
        return (
            f"source {source} is a single segment: `seglake inspect {quoted}` shows it, `seglake"
            f" cat --source {quoted}` prints its records; to ingest, give {_FOLDERS}"
        )
    if parse_archive_name(name) is not None:
        is_tar = ".tar" in name or name.rpartition(".")[2].startswith("t")
        how = f" (mkdir DISK && tar -xf {quoted} -C DISK)" if is_tar else ""
        return f"source {source} is an archive: unpack it, and give the folder{how}"
    if parse_compressed_name(name) is not None:
        return (
            f"source {source} is a compressed segment: unpack it into its partition folder, and"
            " give the log dir"
        )
    return f"source {source} is a file: give {_FOLDERS}"
