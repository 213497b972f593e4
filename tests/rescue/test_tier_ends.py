"""The end of an upload that nothing but its last batch states: LocalTieredStorage alone."""

import struct
from pathlib import Path

import pytest

from support.encoder import Record, record_batch
from support.lakes import ingested, read_table
from support.tiers import new_id

_LAST = 9


def _tier(folder: Path, *, last: int = _LAST, flips: bool = False) -> Path:
    """Write a tier with one segment: offsets 0 to 2, then a hole of the cleaner, and the last."""
    batches = [record_batch(0, [Record(value=b"v")] * 3), record_batch(_LAST, [Record(value=b"w")])]
    content = bytearray(b"".join(batch.data for batch in batches))
    struct.pack_into(">q", content, len(batches[0].data), last)
    content[-2] ^= flips
    name = f"tier/t-0-{new_id()}/{0:020d}-{new_id()}.log"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(content)
    return folder / "tier"


def _found(tier: Path, lake: Path) -> tuple[list[int], list[str], set[tuple[int, int, str]]]:
    ingested(tier, lake, source={"source_id": "c"})
    return (
        sorted(row["offset"] for row in read_table(lake, "records")),
        [row["defect_code"] for row in read_table(lake, "quarantine")],
        {
            (row["start_offset"], row["next_offset"], row["cause"])
            for row in read_table(lake, "gaps")
        },
    )


def test_a_last_batch_after_a_hole_is_the_end_of_an_upload(tmp_path: Path, lake: Path) -> None:
    """Brokers upload only replicated records, so no later batch need prove it."""
    assert _found(_tier(tmp_path), lake) == ([0, 1, 2, 9], [], {(3, 9, "missing")})


def test_a_damaged_last_batch_of_an_upload_is_quarantined(tmp_path: Path, lake: Path) -> None:
    """No broker will write to the object again."""
    found = _found(_tier(tmp_path, flips=True), lake)
    assert found == ([0, 1, 2], ["crc_mismatch"], {(3, 10, "quarantined")})


@pytest.mark.parametrize("last", [1 << 28, (1 << 31) - 1])
def test_an_implausible_end_of_an_upload_hides_nothing_later(
    last: int, tmp_path: Path, lake: Path
) -> None:
    offsets, defects, gaps = _found(_tier(tmp_path, last=last), lake)
    assert (offsets, len(defects), gaps) == ([0, 1, 2], 1, set())
