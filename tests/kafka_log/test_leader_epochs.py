"""Leader epochs: up to where two copies of a log are the same."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart


def _leader_epochs(*epochs: tuple[int, int], end: int = OPEN_END) -> LeaderEpochs:
    return leader_epochs_of([EpochStart(*entry) for entry in epochs], end)


# --- the textbook -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        # A follower that lags shares all it has.
        (_leader_epochs((0, 0), end=50), _leader_epochs((0, 0), end=80), 50),
        # KIP-101, scenario 2: both restart, the one with the shorter log leads and writes on.
        (_leader_epochs((0, 0), end=2), _leader_epochs((0, 0), (1, 1), end=2), 1),
        # KIP-279: fast fail-over with unclean elections; no epoch 2 here, no epoch 1 there.
        (_leader_epochs((0, 0), (1, 20), end=30), _leader_epochs((0, 0), (2, 10), end=40), 10),
        # The last epochs differ, one in the middle is in both.
        (
            _leader_epochs((1, 0), (3, 10), (5, 30), end=50),
            _leader_epochs((1, 0), (3, 10), (4, 25), end=60),
            25,
        ),
        # Two epochs that the other never saw are cut at once.
        (
            _leader_epochs((0, 0), (2, 10), (4, 20), end=30),
            _leader_epochs((0, 0), (1, 5), (5, 8), end=40),
            5,
        ),
        # A leader that has written nothing yet.
        (_leader_epochs((0, 0), end=90), _leader_epochs((0, 0), (1, 70), end=70), 70),
        # Retention took the oldest epochs of one of them.
        (
            _leader_epochs((0, 0), (2, 10), (3, 40), end=50),
            _leader_epochs((2, 30), (3, 40), end=60),
            50,
        ),
        # No log at all.
        (_leader_epochs(end=0), _leader_epochs((0, 0), end=60), 0),
        # Formats without epochs: nothing speaks against it.
        (_leader_epochs(end=40), _leader_epochs(end=60), 40),
        (_leader_epochs(end=40), _leader_epochs((3, 30), end=60), 40),
        (_leader_epochs((1, 30), end=40), _leader_epochs((3, 30), end=60), 30),
    ],
)
def test_two_copies_are_the_same_up_to_where_their_epochs_part(
    one: LeaderEpochs, other: LeaderEpochs, common: int
) -> None:
    assert one.common_next_offset(other) == common
    assert other.common_next_offset(one) == common


def test_an_epoch_that_starts_above_the_log_end_is_left_from_before_a_cut() -> None:
    stale = _leader_epochs((0, 0), (1, 100), (2, 300), end=200)
    assert (stale.last_epoch, stale.epoch_at(150), stale.epoch_at(200)) == (1, 1, None)


def test_a_leader_that_has_written_nothing_yet_has_the_newest_epoch() -> None:
    assert _leader_epochs((0, 0), (4, 200), end=200).last_epoch == 4


def test_a_log_without_epochs_knows_none() -> None:
    assert (_leader_epochs().last_epoch, _leader_epochs().epoch_at(7)) == (-1, None)
    assert _leader_epochs((2, 10)).epoch_at(9) is None


# --- what batches say ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "seen", "expected"),
    [
        ([], [(0, 0), (50, 2)], [(0, 0), (2, 50)]),
        ([(0, 0)], [(80, 1), (90, 1)], [(0, 0), (1, 80)]),
        ([(0, 0)], [(80, 1)], [(0, 0)]),  # one batch alone, and the file knows nothing of it
        ([(0, 0), (1, 100)], [(80, 1)], [(0, 0), (1, 80)]),  # the epoch is older than the file says
        ([(0, 0), (1, 50)], [(80, 0)], [(0, 0)]),  # and this one was cut off
        ([(0, 0), (1, 50), (3, 90)], [(60, 2), (70, 2)], [(0, 0), (1, 50), (2, 60), (3, 90)]),
        ([(0, 0), (1, 50)], [(10, 0), (70, 1)], [(0, 0), (1, 50)]),
    ],
)
def test_batches_are_the_truth_where_the_file_disagrees(
    file: list[tuple[int, int]], seen: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    facts = [EpochStart(epoch, offset) for offset, epoch in seen]
    assert leader_epochs_of([EpochStart(*each) for each in file], 200, facts).epochs == tuple(
        expected
    )


@pytest.mark.parametrize("false_epoch", [0, 4, 9999])
def test_a_batch_whose_epoch_breaks_the_rise_is_not_believed(false_epoch: int) -> None:
    seen = [(0, 2), (40, 2), (50, false_epoch), (60, 2), (90, 3)]
    facts = [EpochStart(epoch, offset) for offset, epoch in seen]
    assert leader_epochs_of([], 200, facts).epochs == ((2, 0), (3, 90))


# --- any history --------------------------------------------------------------------------------


@dataclass
class _Broker:
    """A copy as a list of (epoch, value), and what its checkpoint file says."""

    log: list[tuple[int, int]] = field(default_factory=list)
    file: list[tuple[int, int]] = field(default_factory=list)

    def append(self, epoch: int, value: int) -> None:
        if epoch not in [known for known, _ in self.file]:
            self.begin(epoch)
        self.log.append((epoch, value))

    def begin(self, epoch: int) -> None:
        self.file = [entry for entry in self.file if entry[1] < len(self.log)]
        self.file.append((epoch, len(self.log)))

    def cut(self, length: int) -> None:
        del self.log[length:]
        self.file = [entry for entry in self.file if entry[1] < length]

    def leader_epochs(self) -> LeaderEpochs:
        return leader_epochs_of([EpochStart(*entry) for entry in self.file], len(self.log))


def _same(one: _Broker, other: _Broker) -> int:
    """How many entries two logs share, counted one by one."""
    count = 0
    for mine, theirs in zip(one.log, other.log, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["elect", "append", "append", "fetch", "fetch"]),
        st.integers(0, 2),
        st.integers(1, 4),
    ),
    max_size=60,
)


def _history(steps: list[tuple[str, int, int]]) -> list[_Broker]:
    """Three brokers: any of them may be elected, however far behind it is."""
    brokers = [_Broker(), _Broker(), _Broker()]
    leader, epoch, value = brokers[0], 0, 0
    leader.begin(epoch)
    for verb, index, count in steps:
        if verb == "elect":
            leader, epoch = brokers[index], epoch + 1
            leader.begin(epoch)
        elif verb == "append":
            for _ in range(count):
                value += 1
                leader.append(epoch, value)
        elif brokers[index] is not leader:
            follower = brokers[index]
            length = _same(follower, leader)
            follower.cut(length)  # its file even where its log is no longer
            for entry in leader.log[length : length + count]:
                follower.append(*entry)
    return brokers


@settings(deadline=None)
@given(_STEPS)
def test_any_two_logs_share_what_their_epochs_say(steps: list[tuple[str, int, int]]) -> None:
    brokers = _history(steps)
    for one in brokers:
        for other in brokers:
            assert one.leader_epochs().common_next_offset(other.leader_epochs()) == _same(
                one, other
            )


@settings(deadline=None)
@given(_STEPS)
def test_batches_alone_say_the_same_as_the_file(
    steps: list[tuple[str, int, int]],
) -> None:
    """As of a file that was lost."""
    brokers = _history(steps)

    def leader_epochs(broker: _Broker) -> LeaderEpochs:
        facts = [EpochStart(epoch, offset) for offset, (epoch, _) in enumerate(broker.log)]
        return leader_epochs_of([], len(broker.log), facts)

    for one in brokers:
        for other in brokers:
            common = _same(one, other)
            assert leader_epochs(one).common_next_offset(leader_epochs(other)) == common


@settings(deadline=None)
@given(_STEPS)
def test_the_epoch_at_an_offset_is_that_of_its_entry(steps: list[tuple[str, int, int]]) -> None:
    for broker in _history(steps):
        leader_epochs = broker.leader_epochs()
        found = [leader_epochs.epoch_at(offset) for offset in range(len(broker.log) + 1)]
        assert found == [*(epoch for epoch, _ in broker.log), None]
