"""How transactions end, and what damage does to that, against a naive oracle."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seglake.kafka_log.transaction_markers import Markers
from support.damaged_transactions import (
    CHECKED,
    Flip,
    data_steps,
    doubted_producers,
    flip_byte,
    states_of,
)
from support.encoder import Aborted, transaction_index
from support.surveyed import log_bounds
from support.transaction_logs import OUTSIDE, Step, TransactionLog, abort, commit, sent, write_log

_CONTROL_BIT = 22, 0x20  # byte of a batch, mask: attributes are at 21
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
@example([sent(1), commit(1), sent(1)], [], 60, False, 0)  # the second of a producer is open
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
    whole = [step for step in data_steps(log) if edges[0] <= step.offset < upper]
    assert states_of(committed, whole) == {step.offset: log.state(step, upper) for step in whole}
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
        hit = {flip_byte(Path(folder) / "d", log, edges, flip) for flip in flips}
        bounds = log_bounds(Path(folder) / "d", isolation="read_uncommitted")
    sound = [step for step in data_steps(log) if step.offset not in hit]
    states = states_of(bounds, sound)
    upper = bounds.next_offset  # a cut end is left for a later run
    wrong = {s.step.producer_id for s in sound if states[s.offset] != log.state(s, upper)}
    assert wrong <= doubted_producers(bounds)
    aborts = [placed for placed in log.placed if placed.step.is_commit is False]
    if has_files and len(aborts) == len(log.aborted()):  # an abort of nothing is in no index
        assert wrong == doubted_producers(bounds) == set()


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
@pytest.mark.parametrize("byte", [CHECKED, _CONTROL_BIT], ids=["checked byte", "control bit"])
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
    flip_byte(data, log, [0], Flip(1, *byte))
    bounds = log_bounds(data)
    assert str(Markers(bounds.markers).state(1, 0)) == state
    texts = [*bounds.notes, *(doubt.text for doubt in bounds.unknown_outcomes)]
    assert [said in text for text in texts] == [True]


def _log_with_edges(steps: list[Step], cuts: list[int]) -> tuple[TransactionLog, list[int]]:
    """The log, and where its segments begin: at 0 and some of its batches."""
    log = TransactionLog.of(steps)
    return log, sorted({0, *(log.placed[cut % len(log.placed)].offset for cut in cuts)})
