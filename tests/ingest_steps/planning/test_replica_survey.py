"""Which replicas are surveyed, and what is planned of the one that is chosen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from seglake.ingest_steps.planning.partitions import (
    SurveyedPartition,
    listed_partitions,
)
from seglake.ingest_steps.planning.plan import plan_ranges, plan_waves
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.log_dirs.discovery import discover
from seglake.log_tables.source_ledger import SourceLedger
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine
from support.lakes import local_scan
from support.made_logs import make_log_dir
from support.planned import decode_settings, ledger_row

_ORDERS = ("orders", 0)
T = TypeVar("T")
R = TypeVar("R")


class _WatchedEngine(LocalEngine):
    """Runs tasks as ever, and keeps how many came at a time."""

    def __init__(self) -> None:
        super().__init__(1)
        self.runs: list[int] = []
        self.is_started = False

    def start(self) -> None:
        self.is_started = True

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], *, on_done: Callable[[int], None]
    ) -> list[R]:
        self.runs.append(len(tasks))
        return super().run(function, tasks, on_done=on_done)


def _surveyed(
    sources: list[Path],
    ledger: SourceLedger,
    settings: Settings,
    engine: LocalEngine | None = None,
) -> list[SurveyedPartition]:
    found = discover(
        [str(source) for source in sources],
        LocalStorage(),
        selects_topic=settings.select.selects_topic,
    )
    with engine or LocalEngine(1) as engine:
        scan = local_scan(settings, engine)
        return survey_partitions(listed_partitions(found.replicas, ledger, LocalStorage()), scan)


def _two_brokers(data: Path) -> list[Path]:
    short = make_log_dir(data / "1", {_ORDERS: [0, 20]}, broker_id=1)
    edges = {_ORDERS: [0, 20, 40], ("payments", 0): [0, 10]}
    return [short, make_log_dir(data / "2", edges, broker_id=2)]


def test_of_a_partition_with_news_all_replicas_are_surveyed_and_one_is_chosen(data: Path) -> None:
    settings = Settings()
    orders, payments = _surveyed(_two_brokers(data), SourceLedger(), settings)
    assert (orders.replica.broker_id, len(orders.surveys)) == (2, 2)
    (other,) = orders.other_replicas
    assert (other.replica.broker_id, other.log_end_offset) == (1, 20)
    assert (payments.replica.broker_id, payments.other_replicas) == (2, ())
    assert (orders.bounds.log_end_offset, orders.bounds.next_offset) == (40, 40)


def test_a_partition_without_news_is_left_out_and_a_known_beginning_is_not_surveyed(
    data: Path,
) -> None:
    sources, settings = _two_brokers(data), Settings()
    (orders, payments) = _surveyed(sources, SourceLedger(), settings)
    rows = [
        ledger_row(orders.key, 25, last_base_offset=20, leader_epoch=0),
        ledger_row(payments.key, 10, last_base_offset=5, leader_epoch=0),
    ]
    (due,) = _surveyed(sources, SourceLedger(rows), settings)
    assert due.key == orders.key
    (last,) = due.surveys
    assert (last.first_offset, last.next_offset) == (20, 40)
    assert due.covered == ((0, 25),)


def test_a_replica_that_cannot_be_read_leaves_the_choice_to_the_others(data: Path) -> None:
    one, two = _two_brokers(data)
    settings = Settings()
    found = discover(
        [str(one), str(two)], LocalStorage(), selects_topic=settings.select.selects_topic
    )
    (two / "orders-0" / f"{20:020}.log").unlink()
    with LocalEngine(1) as engine:
        logs = listed_partitions(found.replicas, SourceLedger(), LocalStorage())
        orders, _ = survey_partitions(logs, local_scan(settings, engine))
    assert orders.replica.broker_id == 1
    assert any("no such file" in note for note in orders.choice.notes)


@pytest.mark.parametrize(("is_more_than_half", "runs"), [(False, []), (True, [2])])
def test_only_what_will_be_several_tasks_is_surveyed_in_tasks(
    data: Path, is_more_than_half: bool, runs: list[int]
) -> None:
    sources = _two_brokers(data)
    size_bytes = sum(path.stat().st_size for path in data.glob("*/*/*.log"))
    settings = Settings()
    object.__setattr__(settings.read, "split_bytes", 2 * size_bytes - is_more_than_half)
    engine = _WatchedEngine()
    assert len(_surveyed(sources, SourceLedger(), settings, engine)) == 2
    assert (engine.runs, engine.is_started) == (runs, is_more_than_half)


def test_one_log_can_be_two_tasks(data: Path) -> None:
    source = make_log_dir(data / "1", {_ORDERS: [0, 200]})
    (log,) = data.glob("*/*/*.log")
    settings = Settings()
    object.__setattr__(settings.read, "split_bytes", log.stat().st_size)
    (orders,) = _surveyed([source], SourceLedger(), settings)
    ranges = plan_ranges(orders, settings)
    (wave,) = plan_waves(ranges, 1 << 30, settings.read.split_bytes, decode_settings())
    sizes = [task.size_bytes for task in wave.tasks]
    assert len(sizes) == 2
    assert sum(sizes) == log.stat().st_size
