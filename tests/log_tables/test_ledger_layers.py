"""What the ledger's rows of one partition come to, as by counting each offset."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.offset_ranges import merged
from seglake.log_tables.ledger_layers import RangeKind, Row, layers_of

_END = 12


def _row(kind: RangeKind, start: int, stop: int, generation: int) -> Row:
    return {"kind": kind, "start_offset": start, "next_offset": stop, "generation": generation}


_ranges = st.tuples(st.integers(0, _END - 1), st.integers(1, _END)).filter(lambda r: r[0] < r[1])
_commits = st.lists(st.tuples(st.sampled_from(RangeKind), _ranges), max_size=8)


@given(_commits)
def test_each_offset_is_what_the_last_row_over_it_made_of_it(
    commits: list[tuple[RangeKind, tuple[int, int]]],
) -> None:
    rows = [_row(kind, *span, number) for number, (kind, span) in enumerate(commits, 1)]
    current, lost = set[int](), set[int]()
    for row in rows:
        offsets = set(range(row["start_offset"], row["next_offset"]))
        match row["kind"]:
            case RangeKind.INGEST:
                current |= offsets
            case RangeKind.SUPERSEDED:
                current, lost = current - offsets, lost | offsets
            case RangeKind.RETAKE:
                current, lost = current | offsets, lost - offsets
            case RangeKind.RELEASED:
                lost -= offsets
    found = layers_of(reversed(rows))
    assert found.current == merged((offset, offset + 1) for offset in sorted(current))
    assert found.superseded == merged((offset, offset + 1) for offset in sorted(lost))
    assert all(stop < start for (_, stop), (start, _) in pairwise(found.current))


def test_one_commit_supersedes_before_it_retakes_and_releases_last() -> None:
    rows = [
        _row(RangeKind.INGEST, 0, 10, 1),
        _row(RangeKind.RELEASED, 8, 10, 2),
        _row(RangeKind.RETAKE, 4, 8, 2),
        _row(RangeKind.SUPERSEDED, 4, 10, 2),
    ]
    assert layers_of(rows) == ([(0, 8)], [])
