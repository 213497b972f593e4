"""How transactions end, against a search through all markers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.transaction_markers import (
    Marker,
    Markers,
    OpenTransaction,
    TransactionFold,
    TransactionState,
)

_MARKERS = st.lists(
    st.builds(Marker, st.integers(0, 20), st.integers(1, 3), st.booleans()),
    max_size=8,
    unique_by=lambda marker: marker.offset,
)


@given(_MARKERS, st.integers(1, 3), st.integers(0, 20))
def test_data_has_the_state_of_the_first_marker_of_its_producer_behind_it(
    markers: list[Marker], producer_id: int, offset: int
) -> None:
    behind = [m for m in markers if m.producer_id == producer_id and m.offset > offset]
    expected = TransactionState.OPEN
    if behind:
        is_commit = min(behind).is_commit
        expected = TransactionState.COMMITTED if is_commit else TransactionState.ABORTED
    found = Markers(markers)
    assert found.state(producer_id, offset) is expected
    both = found.states(producer_id, np.array([offset, 30]))
    assert [list(TransactionState)[index] for index in both] == [expected, TransactionState.OPEN]


def test_a_marker_ends_the_transaction_of_its_producer_from_the_first_batch_on() -> None:
    fold = TransactionFold()
    for offset in (3, 5):
        fold.data(7, offset, timestamp_ms=100 + offset)
    fold.data(8, 4)
    assert fold.open_transactions() == (OpenTransaction(7, 3, 103), OpenTransaction(8, 4))
    assert fold.marker(Marker(6, 7, is_commit=True)) == OpenTransaction(7, 3, 103)
    assert fold.open_transactions() == (OpenTransaction(8, 4),)
    assert fold.marker(Marker(9, 7, is_commit=False)) is None
    assert [marker.offset for marker in fold.markers] == [6, 9]
