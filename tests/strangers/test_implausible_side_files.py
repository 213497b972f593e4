"""Side files that a power loss, another version or a stranger left damaged: named in each run."""

from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.taken import is_nothing_new, offsets_taken

_ORDERS = ("orders", 0)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk", {_ORDERS: [0, 10, 20]})


@pytest.mark.parametrize(
    "content", [bytes(40), b"9\n0\n", b"\xff\xfe garbage", b"0\n2\norders 0 20\n"]
)
@pytest.mark.parametrize(
    "name",
    [
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "orders-0/leader-epoch-checkpoint",
    ],
)
def test_a_damaged_checkpoint_is_named_in_each_run_and_the_log_is_ingested(
    name: str, content: bytes, log_dir: Path, lake: Path
) -> None:
    damaged = log_dir / name
    damaged.write_bytes(content)
    for _ in range(2):
        summary = ingested(log_dir, lake)
        assert (summary.exit_code, list(summary.left_out)) == (3, [str(damaged)])
        assert f"left out: {damaged} is ignored as implausible: line " in summary.to_text()
        assert summary.to_text().count("is ignored as implausible") == 1
        assert offsets_taken(lake) == [*range(20)]


@pytest.mark.parametrize("name", ["meta.properties", "orders-0/partition.metadata"])
def test_a_damaged_file_of_ids_is_named_and_the_log_is_ingested(
    name: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    damaged = log_dir / name
    damaged.write_text("version=9\ncluster.id=x\n")
    source = {"source_id": "rescued"} if name == "meta.properties" else {}
    summary = ingested(log_dir, lake, engine=engine, source=source)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(damaged)])
    assert offsets_taken(lake) == [*range(20)]


@pytest.mark.parametrize("name", ["recovery-point", "log-start", "cleaner"])
def test_an_empty_checkpoint_as_a_stopped_broker_leaves_is_no_damage(
    name: str, log_dir: Path, lake: Path
) -> None:
    (log_dir / f"{name}-offset-checkpoint").write_bytes(b"")
    (log_dir / "orders-0" / "leader-epoch-checkpoint").write_bytes(b"0\n0\n")
    assert ingested(log_dir, lake).exit_code == 0
    assert is_nothing_new(ingested(log_dir, lake))
