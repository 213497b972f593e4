"""Leader epochs of a log's offsets, and the offset up to which two copies are the same. Pure.

Each election begins a new leader epoch. In one epoch one broker appends, so two copies that have
the same epoch at an offset have the same batch there and the same log before it (KIP-101, KIP-279).
What lies below the first epoch known counts as one epoch, older than all others.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

NO_EPOCH = -1
OPEN_END = (1 << 63) - 1  # of a log whose end is not known


@dataclass(frozen=True, slots=True)
class LeaderEpochs:
    """The leader epochs of one copy of a log, made by `leader_epochs_of`.

    `epochs` rise, their start offsets never fall; an epoch that owns no record ends where it
    begins.
    """

    epochs: tuple[EpochStart, ...]
    log_end_offset: int = OPEN_END

    @property
    def last_epoch(self) -> int:
        """Return the newest epoch, -1 when none is known."""
        return self.epochs[-1].epoch if self.epochs else NO_EPOCH

    def epoch_at(self, offset: int) -> int | None:
        """Return the epoch in which an offset was written; None if unknown or outside the log."""
        if offset >= self.log_end_offset:
            return None
        count = bisect_right(self.epochs, offset, key=lambda entry: entry.start_offset)
        return self.epochs[count - 1].epoch if count else None

    def denied(self, seen: Iterable[EpochStart]) -> list[EpochStart]:
        """Return the epoch starts claimed by batches that are not in these epochs."""
        return [fact for fact in seen if self.epoch_at(fact.start_offset) not in (fact.epoch, None)]

    def common_next_offset(self, other: "LeaderEpochs") -> int:
        """Return the exclusive offset up to which two copies of a log are the same.

        As a follower finds where to cut its log: ask the other for the end of its largest epoch up
        to one's own last, and go down until both have the same epoch. Of a log without any epoch
        nothing tells that it is another.
        """
        if not self.epochs or not other.epochs:
            return min(self.log_end_offset, other.log_end_offset)
        epoch = self.last_epoch
        while True:
            theirs = other._largest_up_to(epoch)
            epoch = self._largest_up_to(theirs)
            if epoch == theirs:
                return min(self.end_of(epoch), other.end_of(epoch))

    @property
    def without_end(self) -> "LeaderEpochs":
        """Return the epochs without the last one's end: the log may grow."""
        return LeaderEpochs(self.epochs)

    def divergence_offset(self, other: "LeaderEpochs") -> int:
        """Return the first offset of different epochs; OPEN_END if one log may just be longer."""
        return self.without_end.common_next_offset(other.without_end)

    def _largest_up_to(self, epoch: int) -> int:
        count = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        return self.epochs[count - 1].epoch if count else NO_EPOCH

    def end_of(self, epoch: int) -> int:
        """Return the start of the first newer epoch; the log's end without one."""
        following = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        if following == len(self.epochs):
            return self.log_end_offset
        return min(self.epochs[following].start_offset, self.log_end_offset)


UNKNOWN_EPOCHS = LeaderEpochs(())


def leader_epochs_of(
    epochs: Iterable[EpochStart],
    log_end_offset: int = OPEN_END,
    seen: Sequence[EpochStart] = (),
) -> LeaderEpochs:
    """Put together what a copy's leader-epoch-checkpoint says and what its batches say.

    Args:
        epochs: of the checkpoint file; those that start above the log's end are left from before
            the log was cut (KAFKA-16541).
        seen: batches' first offsets and their epochs. They are the truth where the file disagrees,
            but no checksum covers an epoch: one batch alone needs the file's word, and one that
            breaks the rise of the others is false.
    """
    believed = [entry for entry in epochs if entry.start_offset <= log_end_offset]
    told = {entry.epoch for entry in believed}
    facts = _rising(sorted(seen, key=lambda fact: fact.start_offset))
    for index, fact in enumerate(facts):
        neighbours = [*facts[max(index - 1, 0) : index], *facts[index + 1 : index + 2]]
        is_alone = all(neighbour.epoch != fact.epoch for neighbour in neighbours)
        if not told or not is_alone or fact.epoch in told:
            _believe(believed, fact)
    return LeaderEpochs(tuple(believed), log_end_offset)


def _believe(entries: list[EpochStart], fact: EpochStart) -> None:
    """Add a fact, and take out what cannot be true when `fact.epoch` wrote `fact.start_offset`."""
    of_epoch = bisect_right(entries, fact.epoch, key=lambda entry: entry.epoch)
    of_offset = bisect_right(entries, fact.start_offset, key=lambda entry: entry.start_offset)
    start, stop = sorted((of_epoch, of_offset))
    is_known = start > 0 and entries[start - 1].epoch == fact.epoch
    entries[start:stop] = [] if is_known else [fact]


def _rising(seen: Sequence[EpochStart]) -> list[EpochStart]:
    """Return the longest part of what was seen whose epochs never fall."""
    lowest_ends: list[int] = []  # of each length: the index whose epoch is the lowest last one
    previous: list[int] = []
    for index, fact in enumerate(seen):
        length = bisect_right(lowest_ends, fact.epoch, key=lambda end: seen[end].epoch)
        previous.append(lowest_ends[length - 1] if length else -1)
        lowest_ends[length : length + 1] = [index]
    result: list[EpochStart] = []
    index = lowest_ends[-1] if lowest_ends else -1
    while index >= 0:
        result.append(seen[index])
        index = previous[index]
    return result[::-1]
