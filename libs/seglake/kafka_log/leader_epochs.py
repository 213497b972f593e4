"""Leader epochs of a log's offsets, and the offset up to which two copies are the same. Pure.

Each election begins a new leader epoch. In one epoch one broker appends, so two copies that have
the same epoch at an offset have the same batch there and the same log before it (KIP-101, KIP-279).
All offsets below the first known epoch count as one epoch, older than all others.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

NO_EPOCH = -1
OPEN_END = (1 << 63) - 1  # stands for the end of a log whose end is unknown


@dataclass(frozen=True, slots=True)
class LeaderEpochs:
    """Leader epochs of one copy of a log, made by `leader_epochs_of`.

    Attributes:
        epochs: the epochs, rising; their start offsets never fall. An epoch without records starts
            at the offset where the next one starts.
        log_end_offset: the exclusive end of the log, `OPEN_END` if it is unknown.
    """

    epochs: tuple[EpochStart, ...]
    log_end_offset: int = OPEN_END

    @property
    def last_epoch(self) -> int:
        """Return the newest epoch, -1 if none is known."""
        return self.epochs[-1].epoch if self.epochs else NO_EPOCH

    def epoch_at(self, offset: int) -> int | None:
        """Return the epoch in which an offset was written; None if unknown or outside the log."""
        if offset >= self.log_end_offset:
            return None
        count = bisect_right(self.epochs, offset, key=lambda entry: entry.start_offset)
        return self.epochs[count - 1].epoch if count else None

    def denied(self, seen: Iterable[EpochStart]) -> list[EpochStart]:
        """Return the epochs claimed by batch headers that contradict these epochs."""
        return [fact for fact in seen if self.epoch_at(fact.start_offset) not in (fact.epoch, None)]

    def common_next_offset(self, other: "LeaderEpochs") -> int:
        """Return the exclusive offset up to which two copies of a log are the same.

        The search is a follower's when it truncates its log: ask the other copy for the end of its
        largest epoch up to the own last one, and go down until both have the same epoch. If a copy
        has no epochs at all, both are assumed to be the same log, so the lower end is returned.
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
        """Return the first offset whose epochs differ; OPEN_END if one log may just be longer."""
        return self.without_end.common_next_offset(other.without_end)

    def _largest_up_to(self, epoch: int) -> int:
        """Return the largest known epoch that is not above `epoch`, -1 without one."""
        count = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        return self.epochs[count - 1].epoch if count else NO_EPOCH

    def end_of(self, epoch: int) -> int:
        """Return the start of the first newer epoch, or the log's end if there is none."""
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
    """Return the epochs of a copy from its leader-epoch-checkpoint and its batch headers.

    Args:
        epochs: entries of the checkpoint file. Entries that start above the log's end are ignored:
            they are left from before the log was truncated (KAFKA-16541).
        log_end_offset: the exclusive end of the log, `OPEN_END` if it is unknown.
        seen: first offsets and epochs of batches. They win over the file, with two exceptions, for
            no checksum covers an epoch. A batch whose epoch breaks the rise of the others is
            ignored. If the file has entries, so is an epoch that it lacks and that only one batch
            has.
    """
    believed = [entry for entry in epochs if entry.start_offset <= log_end_offset]
    listed = {entry.epoch for entry in believed}
    facts = _rising(sorted(seen, key=lambda fact: fact.start_offset))
    for index, fact in enumerate(facts):
        neighbours = [*facts[max(index - 1, 0) : index], *facts[index + 1 : index + 2]]
        is_alone = all(neighbour.epoch != fact.epoch for neighbour in neighbours)
        if not listed or not is_alone or fact.epoch in listed:
            _believe(believed, fact)
    return LeaderEpochs(tuple(believed), log_end_offset)


def _believe(entries: list[EpochStart], fact: EpochStart) -> None:
    """Add a batch's epoch, and remove the entries that contradict it."""
    of_epoch = bisect_right(entries, fact.epoch, key=lambda entry: entry.epoch)
    of_offset = bisect_right(entries, fact.start_offset, key=lambda entry: entry.start_offset)
    start, stop = sorted((of_epoch, of_offset))
    is_known = start > 0 and entries[start - 1].epoch == fact.epoch
    entries[start:stop] = [] if is_known else [fact]


def _rising(seen: Sequence[EpochStart]) -> list[EpochStart]:
    """Return the longest subsequence of batch epochs that never falls."""
    lowest_ends: list[int] = []  # by length: the index of the lowest last epoch of that length
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
