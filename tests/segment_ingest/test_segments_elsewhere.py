"""A segment may lie outside of the log dir: only the listing knows where, as of a remote tier."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seglake.ingest_steps import run_context
from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.log_dirs.discovery import Discovery, discover
from support.accounts import imbalances_of
from support.lakes import ingested, read_table
from support.made_logs import made_records, make_log_dir
from support.taken import gaps_taken, is_nothing_new, records_taken

_ORDERS = ("orders", 0)


def _with_tier(tier: Path) -> Callable[..., Discovery]:
    """The listing of log dirs, and of a folder of objects named by base offset and log."""

    def of_tier(replica: Replica) -> Replica:
        objects = [
            SegmentFile(
                base_offset=int(path.name.split("-")[0]),
                path=str(path),
                name=f"{replica.key}/{path.name}",
                size_bytes=path.stat().st_size,
                index_path=None,
            )
            for path in sorted(tier.glob(f"*-{replica.key}"))
        ]
        return replica._replace(segments=(*objects, *replica.segments))

    def listing(*arguments: Any, **options: Any) -> Discovery:
        found = discover(*arguments, **options)
        return replace(found, replicas=tuple(map(of_tier, found.replicas)))

    return listing


def _move(source: Path, base_offset: int, tier: Path) -> None:
    """Move a segment out of its log dir, as one object; its index is lost."""
    name = f"{base_offset:020d}"
    tier.mkdir(exist_ok=True)
    (source / "orders-0" / f"{name}.log").rename(tier / f"{name}-orders-0")
    for beside in (source / "orders-0").glob(f"{name}.*"):
        beside.unlink()


def test_segments_of_a_tier_are_ingested_like_those_of_the_log_dir(
    data: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_log_dir(data, {_ORDERS: [0, 40, 80, 120]})
    tier = tmp_path / "tier"
    for base_offset in (0, 40):
        _move(source, base_offset, tier)
    monkeypatch.setattr(run_context, discover.__name__, _with_tier(tier))
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == made_records({_ORDERS: range(120)})
    assert {row["segment"].rsplit("/", 1)[1] for row in read_table(lake, "batches")} == {
        f"{0:020d}-orders-0",
        f"{40:020d}-orders-0",
        f"{80:020d}.log",
    }
    assert (gaps_taken(lake), imbalances_of(lake)) == ([], [])
    assert is_nothing_new(ingested(source, lake))


def test_a_segment_that_moves_to_the_tier_before_it_is_ingested_is_read_there(
    data: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_log_dir(data, {_ORDERS: [0, 40]})
    monkeypatch.setattr(run_context, discover.__name__, _with_tier(tmp_path / "tier"))
    assert ingested(source, lake).exit_code == 0
    make_log_dir(data, {_ORDERS: [0, 40, 80, 120]})
    for base_offset in (0, 40):
        _move(source, base_offset, tmp_path / "tier")
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == made_records({_ORDERS: range(120)})
    assert (gaps_taken(lake), imbalances_of(lake)) == ([], [])
