"""Disks without a cluster id, as brokers before 2.4 leave them, under a name of the user's own."""

from pathlib import Path

from seglake.pipelines.lake_retake.retake_plan import Selection
from support.lakes import ingested, replayed, retaken
from support.made_logs import make_log_dir
from support.taken import offsets_taken

_ORDERS = ("orders", 0)
_NAMED = {"source_id": "our-kafka"}


def test_replay_and_retake_need_no_name_where_the_lake_has_one_source(
    tmp_path: Path, lake: Path
) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, cluster_id=None)
    two = make_log_dir(tmp_path / "two", edges, cluster_id=None)
    log = one / "orders-0" / f"{20:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    ingested(one, lake, source=_NAMED)
    assert replayed(lake, two).repaired_gaps == 1
    assert offsets_taken(lake) == list(range(40))
    whole = Selection(is_whole=True)
    again = retaken(lake, two, selection=whole, select={"topics": ["orders"]})
    assert (again.exit_code, again.records) == (0, 40)
