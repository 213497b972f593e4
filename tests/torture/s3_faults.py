"""As `storage_faults`, on an S3 server that the campaign starts."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.servers.s3_server import S3Server, versitygw
from torture.rows import Row
from torture.storage_faults import drawn
from torture.storage_places import Place, S3Place


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Draw points until the time is over or each was met; none where there is no server."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with versitygw(Path(folder)) as server:
                yield from drawn(seconds, seed, partial(_place, server), part="s3_faults")
        except pytest.skip.Exception as why:
            print(f"s3_faults: not begun: {why}")


def _place(server: S3Server, folder: Path, number: int) -> Place:
    return S3Place(server, number)
