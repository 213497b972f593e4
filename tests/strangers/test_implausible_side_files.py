"""Side files that a power loss, another version or a stranger left damaged: named in each run."""

import shutil
from itertools import product
from pathlib import Path

import pytest

from seglake.log_dirs.errors import WrongSourceError
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.encoder import write_checkpoint
from support.lakes import by_partition, ingested
from support.made_logs import make_log_dir
from support.taken import is_nothing_new, offsets_taken

_ORDERS = ("orders", 0)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk", {_ORDERS: [0, 10, 20]})


_CHECKPOINTS = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "orders-{}/leader-epoch-checkpoint",
)
_DAMAGES = ("\0" * 40, "9\n0\n", "\xff\xfe garbage", "0\n2\norders {} 20\n", "0\n1\norders {} 2")


def test_a_damaged_checkpoint_is_named_in_each_run_and_the_log_is_ingested(
    tmp_path: Path, lake: Path
) -> None:
    log_dirs, damaged = [], []
    for partition, (name, content) in enumerate(product(_CHECKPOINTS, _DAMAGES)):
        folder = tmp_path / str(partition)
        log_dirs.append(make_log_dir(folder, {("orders", partition): [0, 10, 20]}))
        damaged.append(folder / name.format(partition))
        damaged[-1].write_text(content.format(partition), "latin-1")
    for _ in range(2):
        summary = ingested(log_dirs, lake)
        assert (summary.exit_code, {*summary.left_out}) == (3, {*map(str, damaged)})
        said = "{} is ignored as implausible: line "
        assert all(said.format(path) in summary.left_out[str(path)] for path in damaged)
        records = by_partition(lake, "records")
        for partition in range(len(damaged)):
            offsets = sorted(row["offset"] for row in records[partition])
            assert offsets == [*range(20)], damaged[partition]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meta.properties", "version=9\ncluster.id=x\n"),
        ("meta.properties", "version=1\nnode.id=1\ncluster.id=dGllc"),
        ("orders-0/partition.metadata", "version=9\ncluster.id=x\n"),
    ],
)
def test_a_damaged_file_of_ids_is_named_and_the_log_is_ingested(
    name: str, content: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    damaged = log_dir / name
    damaged.write_text(content)
    source = {"source_id": "rescued"} if name == "meta.properties" else {}
    summary = ingested(log_dir, lake, engine=engine, source=source)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(damaged)])
    assert offsets_taken(lake) == [*range(20)]


def test_a_lone_disk_whose_cluster_id_may_be_cut_says_why_it_is_not_believed(
    log_dir: Path, lake: Path
) -> None:
    damaged = log_dir / "meta.properties"
    damaged.write_text("version=1\nnode.id=1\ncluster.id=dGllc")
    with pytest.raises(WrongSourceError) as refused:
        ingested(log_dir, lake)
    why = f"{damaged} is ignored as implausible: line 3: the file ends inside a line"
    assert str(refused.value).endswith(f"Searched: {log_dir}. {why}")


@pytest.mark.parametrize("name", ["recovery-point", "log-start", "cleaner"])
def test_an_empty_checkpoint_as_a_stopped_broker_leaves_is_no_damage(
    name: str, log_dir: Path, lake: Path
) -> None:
    (log_dir / f"{name}-offset-checkpoint").write_bytes(b"")
    (log_dir / "orders-0" / "leader-epoch-checkpoint").write_bytes(b"0\n0\n")
    assert ingested(log_dir, lake).exit_code == 0
    assert is_nothing_new(ingested(log_dir, lake))


_ABSURD = 1 << 62


@pytest.mark.parametrize("has_folder", [True, False])
@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("replication-offset", 0),
        ("recovery-point-offset", 20),
        ("cleaner-offset", 20),
        ("log-start-offset", 20),
    ],
)
def test_an_absurd_offset_in_a_checkpoint_proves_nothing(
    name: str, records: int, *, has_folder: bool, log_dir: Path, lake: Path
) -> None:
    write_checkpoint(log_dir / f"{name}-checkpoint", {_ORDERS: _ABSURD})
    if not has_folder:
        shutil.rmtree(log_dir / "orders-0")
    for _ in range(2):
        summary = ingested(log_dir, lake)
        assert summary.exit_code == 3 or name == "log-start-offset"
        assert summary.recovery.lost_offsets == 20 or has_folder
        assert summary.recovery.lost_offsets <= 20
        assert str(_ABSURD) not in summary.recovery.headline
    assert len(offsets_taken(lake)) == (records if has_folder else 0)
    assert audited(lake).recovery.lost_offsets <= 20


def test_an_absurd_high_watermark_is_named_and_a_rescue_ingests_the_log(
    log_dir: Path, lake: Path
) -> None:
    write_checkpoint(log_dir / "replication-offset-checkpoint", {_ORDERS: _ABSURD})
    summary = ingested(log_dir, lake, read={"upper_bound": "log_end"})
    (why,) = summary.left_out.values()
    assert f"it is {_ABSURD}, and no other offset is above" in why
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(20)])
    assert summary.recovery.lost == {}


def test_an_absurd_leader_epoch_proves_nothing(log_dir: Path, lake: Path) -> None:
    path = log_dir / "orders-0" / "leader-epoch-checkpoint"
    path.write_text(f"0\n2\n0 0\n1 {_ABSURD}\n")
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(20)])
    assert summary.recovery.lost_offsets == 0


def test_damage_at_the_end_of_a_log_hides_no_more_than_what_is_plausible(
    log_dir: Path, lake: Path
) -> None:
    write_checkpoint(log_dir / "recovery-point-offset-checkpoint", {_ORDERS: _ABSURD})
    log = log_dir / "orders-0" / f"{10:020}.log"
    content = bytearray(log.read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, summary.recovery.lost_offsets) == (3, 5)
