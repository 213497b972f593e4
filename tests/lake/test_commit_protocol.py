"""The protocol on a simulated lake: many orders of steps, and all of some."""

import pytest

from torture.exhausted import Scope, exhaust
from torture.schedules import CASES, faults_of, faulty_seeds
from torture.simulated_lake import Fate, Fates, SimulatedLake, SimulatedPort
from torture.simulated_runs import run_steps


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_lost_or_doubled_whatever_happens_when(case: str) -> None:
    """Repeat one with `torture.schedules.faults_of(case, seed)`."""
    assert faulty_seeds(case, range(300)) == []


def test_a_view_older_than_what_the_run_has_seen_ends_it_and_loses_nothing() -> None:
    found_by_the_campaign = 20_261_124_000_119_459
    assert (
        faults_of("answers lost, commits late, old views and listings", found_by_the_campaign) == []
    )


def test_no_order_of_two_runs_loses_or_doubles_anything_wherever_one_dies() -> None:
    found = exhaust(Scope(log_ends=(1, 1)), most_states=100_000)
    assert found.wrong == []
    assert (found.states > 2000, found.lakes > 40) == (True, True)


class _PublishesUnsynced(Fates):
    """The commit to the last of five tables happens, and its driver stops before it syncs."""

    def __init__(self) -> None:
        self._commits = 0

    def commit(self) -> Fate:
        self._commits += 1
        return Fate.ANSWER_LOST if self._commits == 5 else Fate.DONE


@pytest.mark.parametrize("has_looked", [True, False], ids=["builds on it", "cleans up behind it"])
def test_what_a_driver_published_and_did_not_sync_survives_a_power_cut(has_looked: bool) -> None:
    lake = SimulatedLake()
    first = run_steps(SimulatedPort(lake, "first", _PublishesUnsynced()), {"orders": 1}, 1, [])
    second = run_steps(SimulatedPort(lake, "second", Fates()), {"orders": 2}, 1, [])
    if has_looked:  # and has seen that there is nothing to recover
        next(second)
        next(second)
    while len(lake.logs["checkpoints"]) == 1:
        next(first)
    while len(lake.logs["records"]) == 2 if has_looked else lake.redos:
        next(second)
    lake.power_cut(min)
    for _ in run_steps(SimulatedPort(lake, "last", Fates()), {"orders": 2}, 1, []):
        pass
    published = lake.ranges("checkpoints")
    assert [(held.start, held.end) for held in published] == [(0, 1), (1, 2)]
    assert lake.unpublishable() == []
