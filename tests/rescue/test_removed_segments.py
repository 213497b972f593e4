"""What brokers had removed and not yet deleted is named, and docs/rescue.md brings it back."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import seglake
from support.broker_disks import log_dir
from support.encoder import Partition, Segment
from support.made_logs import made_batches, made_records, make_log_dir, write_over
from support.oracle import expected_records, folder_dump
from support.taken import offsets_taken, records_taken
from support.views import viewed

_PAGE = Path(__file__).parents[2] / "docs" / "rescue.md"
_RECIPE = re.compile(r"^```bash\n(cd /rescue\n.+?)^```$", re.MULTILINE | re.DOTALL)


def _follow_the_recipe(folder: Path, lake: Path) -> None:
    found = _RECIPE.search(_PAGE.read_text("utf-8"))
    assert found is not None
    lines = found[1].replace("/data/lake", str(lake))
    for place in ("/rescue", "/removed"):
        lines = lines.replace(place, f"{folder}{place}")
    lines = lines.replace("seglake ingest", f"{shlex.quote(sys.executable)} -m seglake ingest")
    done = subprocess.run(["sh", "-ec", lines], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _rescued(folder: Path) -> Path:
    """A lake of the disks in `rescue`, after what the page says of removed segments."""
    lake = folder / "lake"
    seglake.ingest(folder / "rescue", lake, engine="local", rescue=True)
    _follow_the_recipe(folder, lake)
    return lake


def test_records_from_before_a_compaction_come_back(tmp_path: Path) -> None:
    disk = tmp_path / "rescue" / "broker0"
    make_log_dir(disk, {("orders", 0): [0, 10, 20]})
    (disk / "orders-0").rename(tmp_path / "before")
    left = [*made_batches("orders", 0, range(5)), *made_batches("orders", 0, range(15, 20))]
    write_over(disk, [Partition("orders", 0, [Segment(0, left)])])
    for segment in (tmp_path / "before").glob("*.log"):
        shutil.move(segment, disk / "orders-0" / f"{segment.name}.deleted")
    lake = _rescued(tmp_path)
    assert records_taken(lake) == made_records({("orders", 0): range(20)})
    assert viewed(lake, "SELECT * FROM current_gaps") == []


def test_a_deleted_topic_comes_back_beside_the_one_that_was_created_again(tmp_path: Path) -> None:
    disk = shutil.copytree(log_dir("11_kraft", "stopped"), tmp_path / "rescue" / "broker0")
    (gone,) = disk.glob("kr-gone-0.*-delete")
    dump = folder_dump("11_kraft", "stopped", gone.name)
    deleted = 1 + max(batch.last_offset for batch in dump.batches)
    again = len(expected_records("11_kraft", "stopped", "kr-gone", 0))
    lake = _rescued(tmp_path)
    rows = viewed(
        lake,
        "SELECT count(*) AS records FROM current_records WHERE topic = 'kr-gone'"
        " GROUP BY topic_id ORDER BY records",
    )
    assert [row["records"] for row in rows] == sorted([again, deleted]) == [8, 10]
    assert offsets_taken(lake, "kr-cmp") == list(range(277))
