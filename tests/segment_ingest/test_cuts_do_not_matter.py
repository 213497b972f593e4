"""However the work is cut into windows, tasks and commits, the tables hold the same rows.

The disks are small: to cut them at all, splits are set far below what settings allow.
"""

from pathlib import Path

import pytest

from support import broker_disks
from support.accounts import imbalances_of
from support.broker_disks import SCENARIOS
from support.cases import cases
from support.lakes import (
    Sections,
    content,
    ingested,
    ingested_in_pieces,
    read_table,
    versions,
)
from support.made_logs import made_records, make_log_dir

# All formats and holes; transactions and internal topics; several disks.
_TELLING = ("05_compacted", "06_transactions", "09_jbod")


def _ends(lake: Path) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Of each partition the ledger's records, bytes and end."""
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    for row in read_table(lake, "checkpoints"):
        key = (row["topic"], row["partition"])
        records, size_bytes, end = found.get(key, (0, 0, 0))
        found[key] = (
            records + row["records"],
            size_bytes + row["bytes"],
            max(end, row["next_offset"]),
        )
    return found


@pytest.mark.parametrize("scenario", cases(SCENARIOS, telling=_TELLING))
def test_small_splits_and_waves_give_the_tables_of_the_default_settings(
    scenario: str, tmp_path: Path
) -> None:
    copy = broker_disks.copies(scenario)[-1]
    source = broker_disks.unpacked(scenario) / "disks" / copy
    isolation = "read_committed" if int(scenario[:2]) % 2 else "read_uncommitted"
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    expected = ingested(source, whole, isolation=isolation, select={"internal_topics": True})
    done = ingested_in_pieces(source, pieces, isolation, split_bytes=4000, wave_bytes=60_000)
    assert done.exit_code == expected.exit_code
    assert (done.planned.tasks > expected.planned.tasks) == (expected.planned.planned_bytes > 2000)
    if expected.planned.planned_bytes > 120_000:
        assert versions(pieces)["records"] > 1
    for table in ("records", "batches", "gaps", "quarantine"):
        assert content(pieces, table) == content(whole, table), table
    assert _ends(pieces) == _ends(whole)
    assert imbalances_of(pieces) == []


_LARGE = {("orders", 0): [0, 100, 200, 400], ("orders", 1): [0, 150], ("payments", 0): [0, 90]}
_VALUE_BYTES = 2000
_SMALLEST = 64 * 1024


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param(
            {"read": {"split_bytes": _SMALLEST, "window_bytes": _SMALLEST}},
            id="splits",
            marks=pytest.mark.matrix,  # uneven waves are split too
        ),
        pytest.param({"read": {"decoded_bytes": 1, "window_bytes": _SMALLEST}}, id="flushes"),
        pytest.param({"write": {"target_file_bytes": 1}}, id="files"),
        pytest.param(
            {
                "read": {"split_bytes": _SMALLEST, "window_bytes": _SMALLEST},
                "write": {"wave_bytes": _SMALLEST},
            },
            id="waves",
            marks=pytest.mark.matrix,
        ),
        pytest.param(
            {
                "read": {"split_bytes": 3 * _SMALLEST, "window_bytes": _SMALLEST},
                "write": {"wave_bytes": 5 * _SMALLEST},
            },
            id="uneven_waves",
        ),
    ],
)
def test_the_smallest_settings_give_the_tables_of_the_default_settings(
    sections: Sections, tmp_path: Path
) -> None:
    source = make_log_dir(tmp_path / "data", _LARGE, value_bytes=_VALUE_BYTES)
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    expected = ingested(source, whole)
    done = ingested(source, pieces, **sections)
    ranges = {key: range(stops[-1]) for key, stops in _LARGE.items()}
    assert done.records == expected.records == len(made_records(ranges))
    commits = versions(pieces)["records"]
    assert (commits > 1) == ("wave_bytes" in sections.get("write", {}))
    assert (done.planned.tasks > 1) == ("split_bytes" in sections.get("read", {}))
    for table in ("records", "batches", "gaps", "quarantine"):
        assert content(pieces, table) == content(whole, table), table
    assert imbalances_of(pieces) == []


def test_each_wave_is_a_generation_of_its_topics(tmp_path: Path) -> None:
    source = make_log_dir(tmp_path / "data", _LARGE, value_bytes=_VALUE_BYTES)
    lake = tmp_path / "lake"
    ingested_in_pieces(source, lake, "read_uncommitted", split_bytes=70_000, wave_bytes=200_000)
    ledger = read_table(lake, "checkpoints")
    generations = [row["generation"] for row in ledger if row["topic"] == "orders"]
    assert sorted(set(generations)) == list(range(1, max(generations) + 1))
    assert max(generations) > 3
    rows = sorted((row["topic"], row["partition"], row["start_offset"]) for row in ledger)
    ends = sorted((row["topic"], row["partition"], row["next_offset"]) for row in ledger)
    assert [start for *_, start in rows if start] == [
        end for *key, end in ends if end != _LARGE[key[0], key[1]][-1]
    ]
