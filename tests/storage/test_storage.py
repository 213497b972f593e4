"""What a storage does where it has no better way of its own."""

import io
from pathlib import Path

from seglake.storage.local_storage import LocalStorage
from seglake.storage.s3_storage import S3Storage


def test_a_folder_is_deleted_with_all_below_it_and_with_nothing_beside_it(
    storage: S3Storage,
) -> None:
    for name in ("lake/a", "lake/deep/er/b", "lake2/c"):
        storage.write_bytes(f"s3://b/{name}", b"x")
    for _ in range(2):  # it may be gone already
        storage.delete_folder("s3://b/lake")
        assert [entry.name for entry in storage.list_folder("s3://b")] == ["lake2"]


def test_an_output_is_given_up_though_it_cannot_be_closed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"half")
    output = io.BufferedWriter(io.FileIO("/dev/full", "wb"))
    output.write(b"what does not fit shows when it is closed")
    LocalStorage().discard(output, str(path))
    assert (output.closed, path.exists()) == (True, False)


def test_names_below_a_folder_may_hold_slashes() -> None:
    assert LocalStorage().join("s3://b/lake", "records", "topic=x/f") == (
        "s3://b/lake/records/topic=x/f"
    )
