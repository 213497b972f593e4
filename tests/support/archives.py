"""Unpacks archives with every Python that runs the tests."""

import tarfile
from collections.abc import Iterable
from pathlib import Path


def unpack(archive: Path, folder: Path, wanted: Iterable[str] = ("",)) -> None:
    """Unpack what begins with a wanted name."""
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):  # since 3.11.4; later versions warn without it
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder, [each for each in tar if each.name.startswith(tuple(wanted))])
