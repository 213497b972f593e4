"""Leader epochs of a log, and the offset up to which two copies are equal.

Each election starts a new leader epoch, in which only one broker appends. So if two copies have the
same epoch at an offset, they have the same batch there and the same log below it (KIP-101,
KIP-279). All offsets below the first known epoch count as one epoch, older than all others.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

NO_EPOCH = -1
OPEN_END = (1 << 63) - 1  # end of a log whose end is unknown


class LeaderEpochs(NamedTuple):
    """Leader epochs of one copy of a log; `leader_epochs_of` makes them.

    Attributes:
        epochs: the epochs in rising order; their start offsets never fall. An epoch without records
            starts at the same offset as the next epoch.
        log_end_offset: exclusive end of the log; `OPEN_END` if unknown.
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
        """Return the epochs in batch headers that these leader epochs contradict."""
        return [fact for fact in seen if self.epoch_at(fact.start_offset) not in (fact.epoch, None)]

    def common_next_offset(self, other: "LeaderEpochs") -> int:
        """Return the exclusive end offset of the part that two copies of a log share.

        Kafka's followers search in the same way before they truncate: the search begins at the
        other copy's largest epoch that does not exceed this copy's last epoch, and goes to lower
        epochs until both copies have the same one. If a copy has no epochs, both are assumed to be
        the same log, and the lower end is returned.
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
        """Return these epochs with an unknown log end, for a log that may grow."""
        return LeaderEpochs(self.epochs)

    def divergence_offset(self, other: "LeaderEpochs") -> int:
        """Return the first offset at which two copies have different epochs; OPEN_END if none."""
        return self.without_end.common_next_offset(other.without_end)

    def _largest_up_to(self, epoch: int) -> int:
        """Return the largest of these epochs that does not exceed `epoch`; -1 if there is none."""
        count = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        return self.epochs[count - 1].epoch if count else NO_EPOCH

    def end_of(self, epoch: int) -> int:
        """Return the start offset of the next newer epoch; the log's end if there is none."""
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
    """Combine a copy's leader-epoch-checkpoint and its batch headers.

    Args:
        epochs: entries of the checkpoint file. Entries that start above the log's end are ignored:
            the log was truncated after they were written (KAFKA-16541).
        log_end_offset: exclusive end of the log; `OPEN_END` if unknown.
        seen: first offsets and epochs of batches. They override the file. But no checksum covers a
            batch's epoch, so two kinds of epochs are ignored: an epoch below the epoch of a lower
            offset, and an epoch of a single batch that a non-empty file lacks.
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
    """Insert the epoch of a batch into `entries`, and remove entries that contradict it."""
    of_epoch = bisect_right(entries, fact.epoch, key=lambda entry: entry.epoch)
    of_offset = bisect_right(entries, fact.start_offset, key=lambda entry: entry.start_offset)
    start, stop = sorted((of_epoch, of_offset))
    is_known = start > 0 and entries[start - 1].epoch == fact.epoch
    entries[start:stop] = [] if is_known else [fact]


def _rising(seen: Sequence[EpochStart]) -> list[EpochStart]:
    """Return the longest subsequence, in offset order, in which epochs never fall."""
    # Element n: index of the batch with the lowest epoch at the end of n + 1 epochs that never
    # fall.
    lowest_ends: list[int] = []
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
