"""How transactions end, and what damage does to that, against a naive oracle."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.kafka_log.log_bounds import LogBounds
from seglake.segment_codec.transactions import Markers
from support.encoder import Aborted, Partition, Segment, producer_snapshot, transaction_index
from support.made_logs import write_over
from support.surveyed import log_bounds
from support.transaction_logs import (
    OUTSIDE,
    TOPIC,
    PlacedStep,
    Step,
    TransactionLog,
    abort,
    commit,
    sent,
    write_log,
)

_CONTROL_BIT = 22, 0x20  # byte of a batch, mask: attributes are at 21
_CHECKED = 40, 0x01  # any byte that the checksum covers


class Flip(NamedTuple):
    """A byte of a batch that is changed; numbers are taken modulo what there is."""

    batch: int
    byte: int
    mask: int


_STEPS = (
    st.lists(
        st.builds(
            Step, st.integers(1, 3) | st.just(OUTSIDE), st.none() | st.booleans(), st.integers(1, 3)
        ),
        max_size=24,
    )
    .map(lambda steps: [step for step in steps if step.is_commit is None or step.producer_id > 0])
    .map(lambda steps: [s if s.is_commit is None else s._replace(records=1) for s in steps])
    .filter(len)
)
_FLIPS = st.lists(
    st.builds(Flip, st.integers(0, 30), st.integers(0, 200), st.integers(1, 255)),
    min_size=1,
    max_size=2,
)


@settings(max_examples=100, deadline=None)
@given(
    _STEPS,
    st.lists(st.integers(0, 30), max_size=3),
    st.integers(0, 60),
    st.booleans(),
    st.integers(0, 3),
)
def test_any_interleaving_ends_as_the_naive_fold_says(
    steps: list[Step], cuts: list[int], high_watermark: int, has_files: bool, first_segment: int
) -> None:
    log, edges = _log_with_edges(steps, cuts)
    upper = min(high_watermark, log.next_offset)
    edges = edges[min(first_segment, len(edges) - 1) :]
    edges = edges if edges[0] <= upper else [0]
    with TemporaryDirectory() as folder:
        write_log(Path(folder) / "d", log, edges, high_watermark=upper, has_files=has_files)
        committed = log_bounds(Path(folder) / "d")
        uncommitted = log_bounds(Path(folder) / "d", isolation="read_uncommitted")
    assert (committed.notes, uncommitted.notes, committed.unknown_outcomes) == ((), (), ())
    assert uncommitted.next_offset == upper
    whole = [step for step in _data(log) if edges[0] <= step.offset < upper]
    assert _states(committed, whole) == {step.offset: log.state(step, upper) for step in whole}
    if has_files or edges[0] == 0:
        found = {
            transaction.producer_id: transaction.first_offset
            for transaction in committed.open_transactions
        }
        assert found == log.open_firsts(upper)
        assert committed.next_offset == max(log.stable_offset(upper), edges[0])


@settings(max_examples=120, deadline=None)
@given(_STEPS, st.lists(st.integers(0, 30), max_size=2), _FLIPS, st.booleans())
def test_what_damage_hides_is_known_from_the_files_or_called_uncertain(
    steps: list[Step], cuts: list[int], flips: list[Flip], has_files: bool
) -> None:
    log, edges = _log_with_edges(steps, cuts)
    with TemporaryDirectory() as folder:
        write_log(Path(folder) / "d", log, edges, has_files=has_files)
        hit = {_flipped(Path(folder) / "d", log, edges, flip) for flip in flips}
        bounds = log_bounds(Path(folder) / "d", isolation="read_uncommitted")
    sound = [step for step in _data(log) if step.offset not in hit]
    states = _states(bounds, sound)
    upper = bounds.next_offset  # a cut end is left for a later run
    wrong = {s.step.producer_id for s in sound if states[s.offset] != log.state(s, upper)}
    assert wrong <= _doubted(bounds)
    aborts = [placed for placed in log.placed if placed.step.is_commit is False]
    if has_files and len(aborts) == len(log.aborted()):  # an abort of nothing is in no index
        assert wrong == _doubted(bounds) == set()


# Offsets: 0-2 data of 1, 3 its end, 4-6 data of 1, 7 its end, 8-10 plain.
_TWICE = (sent(1), commit(1), sent(1), abort(1), sent())
_REVERSED = (sent(1), abort(1), sent(1), commit(1), sent())


@pytest.mark.parametrize(
    ("steps", "entries", "state", "said"),
    [
        ([sent(1), abort(1), sent()], [Aborted(1, 0, 3, 4)], "aborted", "names it, so it counts"),
        (
            [sent(1), commit(1), sent()],
            [],
            "committed",
            "names no abort, so it counts as committed",
        ),
        (_TWICE, [Aborted(1, 4, 7, 8)], "committed", "names no abort, so it counts as committed"),
        (_TWICE, None, "aborted", "by the next marker it counts as aborted"),
        (_REVERSED, None, "committed", "by the next marker it counts as committed"),
        (
            [sent(1), commit(1), sent()],
            None,
            "open",
            "no later marker ends it, so it counts as open",
        ),
    ],
    ids=[
        "abort named",
        "ended, no abort",
        "the next abort begins later",
        "next abort",
        "next commit",
        "nothing",
    ],
)
@pytest.mark.parametrize("byte", [_CHECKED, _CONTROL_BIT], ids=["checked byte", "control bit"])
def test_a_damaged_marker_is_settled_by_what_the_files_prove(
    steps: Iterable[Step],
    entries: list[Aborted] | None,
    state: str,
    said: str,
    byte: tuple[int, int],
    data: Path,
) -> None:
    log = TransactionLog.of(steps)
    partition = write_log(data, log, (0,), has_files=entries is not None)
    if entries is not None:
        (partition / "00000000000000000000.txnindex").write_bytes(transaction_index(entries))
    _flipped(data, log, [0], Flip(1, *byte))
    bounds = log_bounds(data)
    assert str(Markers(bounds.markers).state(1, 0)) == state
    texts = [*bounds.notes, *(doubt.text for doubt in bounds.unknown_outcomes)]
    assert [said in text for text in texts] == [True]


def test_a_damaged_batch_that_is_longer_than_a_marker_is_none(data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(2), sent(), sent(2), sent(), commit(2)])
    edges = [0, 12]
    write_log(data, log, edges, has_files=False)
    for index in (2, 3, 4):  # in the middle, at the end of a segment, in the next one
        _flipped(data, log, edges, Flip(index, *_CHECKED))
    bounds = log_bounds(data)
    assert bounds.unknown_outcomes == ()
    assert [transaction.producer_id for transaction in bounds.open_transactions] == [1]


def test_a_missing_index_is_no_proof_where_the_log_has_an_abort(data: Path) -> None:
    log = TransactionLog.of([sent(2), abort(2), sent(1), commit(1), sent()])
    partition = write_log(data, log, (0,))
    _flipped(data, log, [0], Flip(3, *_CHECKED))
    assert _doubted(log_bounds(data)) == set()
    (partition / "00000000000000000000.txnindex").unlink()
    assert _doubted(log_bounds(data)) == {1}


def test_what_a_second_damage_may_hide_is_not_proved_by_the_index_beside_the_first(
    data: Path,
) -> None:
    steps = [sent(1), commit(2), abort(1), sent(), sent(1), abort(1), sent()]
    log, edges = TransactionLog.of(steps), [0, 4, 8]
    partition = write_log(data, log, edges)
    for index in (1, 2):
        _flipped(data, log, edges, Flip(index, *_CHECKED))
    (partition / f"{4:020d}.txnindex").write_bytes(b"!")  # which named the first abort
    assert _doubted(log_bounds(data)) == {1}


def test_the_index_of_a_segment_that_grows_is_no_proof_without_a_snapshot(data: Path) -> None:
    log = TransactionLog.of([sent(2), abort(2), sent(1), abort(1), sent(1), commit(1)])
    partition = write_log(data, log, (0,), has_end_snapshot=False)
    entries = [Aborted(2, 0, 3, 4)]  # copied before the second abort
    (partition / "00000000000000000000.txnindex").write_bytes(transaction_index(entries))
    _flipped(data, log, [0], Flip(3, *_CHECKED))
    assert _doubted(log_bounds(data)) == {1}


def test_a_snapshot_from_behind_the_end_of_the_log_proves_nothing(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(2), sent(), commit(1)])
    partition = write_log(data, log, (0,), stop=7, has_end_snapshot=False)
    (partition / "00000000000000000008.snapshot").write_bytes(producer_snapshot(log.snapshot(8)))
    _flipped(data, log, [0], Flip(1, *_CHECKED))
    bounds = log_bounds(data, read={"upper_bound": "log_end"})
    assert bounds.notes == ()
    assert _doubted(bounds) == {1}
    assert [transaction.producer_id for transaction in bounds.open_transactions] == [1]


def test_batches_behind_a_false_offset_are_no_damage(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(), sent(1), sent()])
    write_log(data, log, (0,))
    _flipped(data, log, [0], Flip(1, 4, 0x01))  # the marker claims an offset far ahead
    bounds = log_bounds(data)
    assert _states(bounds, _data(log)) == {0: "committed", 7: "open"}
    assert bounds.unknown_outcomes == ()


def test_a_marker_that_comes_late_ends_only_what_is_below_it(data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(), commit(1), sent(1)])
    first, plain, end, second = log.batches(0, log.next_offset)
    write_over(data, [Partition(TOPIC, 0, [Segment(0, [first, plain, second, end])])])
    bounds = log_bounds(data, read={"upper_bound": "log_end"})
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(1, 7)]
    assert _states(bounds, _data(log)) == {0: "committed", 7: "open"}


def test_a_missing_segment_may_have_held_an_end(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(2), sent()])
    partition = write_log(data, log, (0, 3, 4), has_files=False)
    (partition / "00000000000000000003.log").unlink()
    (doubt,) = log_bounds(data).unknown_outcomes
    assert "offset 0 on ended in damaged bytes (offset 3)" in doubt.text


@pytest.mark.parametrize("position", [43, 50], ids=["producer id", "its last byte"])
def test_a_damaged_header_opens_no_transaction(position: int, data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(1), sent(), commit(1), sent()])
    write_log(data, log, (0,))
    _flipped(data, log, [0], Flip(1, position, 0x01))
    bounds = log_bounds(data)
    assert bounds.open_transactions == ()
    assert bounds.next_offset == log.next_offset


def _log_with_edges(steps: list[Step], cuts: list[int]) -> tuple[TransactionLog, list[int]]:
    """The log, and where its segments begin: at 0 and some of its batches."""
    log = TransactionLog.of(steps)
    return log, sorted({0, *(log.placed[cut % len(log.placed)].offset for cut in cuts)})


def _data(log: TransactionLog) -> list[PlacedStep]:
    """The batches of data in transactions."""
    return [
        placed
        for placed in log.placed
        if placed.step.is_commit is None and placed.step.producer_id != OUTSIDE
    ]


def _states(bounds: LogBounds, steps: Iterable[PlacedStep]) -> dict[int, str]:
    outcomes = Markers(bounds.markers)
    return {step.offset: str(outcomes.state(step.step.producer_id, step.offset)) for step in steps}


def _doubted(bounds: LogBounds) -> set[int]:
    """The producers that the summary is uncertain about."""
    texts = [doubt.text for doubt in bounds.unknown_outcomes]
    return {int(text.split("producer ")[1].split("'")[0]) for text in texts}


def _flipped(folder: Path, log: TransactionLog, edges: list[int], flip: Flip) -> int:
    """Change a byte of a batch; where the batch begins."""
    placed = log.placed[flip.batch % len(log.placed)]
    base = max(edge for edge in edges if edge <= placed.offset)
    path = folder / "orders-0" / f"{base:020d}.log"
    before = sum(len(batch.data) for batch in log.batches(base, placed.offset))
    size = len(log.batches(placed.offset, placed.offset + 1)[0].data)
    content = bytearray(path.read_bytes())
    content[before + flip.byte % size] ^= flip.mask
    path.write_bytes(content)
    return placed.offset
