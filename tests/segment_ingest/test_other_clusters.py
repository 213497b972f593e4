"""Whoever brings a lake its second cluster is told, in case it is the wrong lake."""

from functools import partial
from pathlib import Path

from support.lakes import ingested
from support.made_logs import make_log_dir

_EDGES = {("orders", 0): [0, 20], ("payments", 0): [0, 10]}


def test_a_second_cluster_in_a_lake_is_said_once(data: Path, lake: Path, tmp_path: Path) -> None:
    make_log_dir(data, _EDGES)
    other = make_log_dir(tmp_path / "other", _EDGES, cluster_id="b3RoZXItY2x1c3Rlci0wMQ")
    run = partial(ingested, other, lake)
    assert ingested(data, lake).notes == []
    assert run(select={"to_timestamp": "2000-01-01"}).notes == []  # nothing of it comes in
    note = (
        "b3RoZXItY2x1c3Rlci0wMQ is new in this lake, which also has c2VnbGFrZS10ZXN0cy4xMg:"
        " the column source_id separates their rows"
    )
    assert run(dry_run=True).notes == [note]
    assert run().notes == [note]
    make_log_dir(other, {**_EDGES, ("payments", 0): [0, 15]}, cluster_id="b3RoZXItY2x1c3Rlci0wMQ")
    again = run()
    assert (again.records, again.notes) == (5, [])
