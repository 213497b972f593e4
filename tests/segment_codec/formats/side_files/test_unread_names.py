"""Names of what is recognised and not read."""

import pytest

from seglake.segment_codec.formats.side_files.unread_names import (
    parse_archive_name,
    parse_compressed_name,
)

_BASE = f"{4711:020d}"


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "xz", "lz4", "zip", "snappy"])
def test_a_segment_that_somebody_compressed_keeps_its_offset(suffix: str) -> None:
    found = parse_compressed_name(f"{_BASE}.log.{suffix}")
    assert found is not None
    assert (found.base_offset, str(found)) == (4711, f"{_BASE}.log")
    assert parse_archive_name(f"{_BASE}.log.{suffix}") is None


@pytest.mark.parametrize(
    "name",
    [
        *(f"{_BASE}.log", f"{_BASE}.log.deleted", f"{_BASE}.log.swap", f"{_BASE}.index.gz"),
        *(f"{_BASE}.log.deleted.gz", "4711.log.gz", "server.log.gz", "orders-0.tar.gz"),
    ],
)
def test_what_is_no_compressed_segment_is_not_taken_for_one(name: str) -> None:
    assert parse_compressed_name(name) is None


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tar.zst", "tgz", "tbz2", "txz", "zip", "7z"])
def test_an_archive_is_known_by_its_suffix(suffix: str) -> None:
    assert parse_archive_name(f"orders.v2-0.{suffix}") == "orders.v2-0"


@pytest.mark.parametrize("name", ["orders-0", "notes.txt", "tar", ".tar", f"{_BASE}.log"])
def test_other_files_are_no_archives(name: str) -> None:
    assert parse_archive_name(name) is None
