"""Does each covered offset lie in exactly one batch or one current gap? One sweep. Pure."""

from typing import NamedTuple

import numpy as np

from seglake.pipelines.lake_audit.ledger import Blocks, Flags, Offsets
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem_at


class Spans(NamedTuple):
    """Half-open ranges of offsets, in any order; `is_gap` tells gaps from batches."""

    starts: Offsets
    stops: Offsets
    is_gap: Flags


def span_problems(spans: Spans, covered: Blocks, cell: tuple[int, int]) -> list[Problem]:
    """Offsets that no span or two spans account for, of what is covered inside a cell.

    Args:
        spans: each counts in the covered range where it ends, from that range's start.
        covered: ranges that touch are one.
        cell: first and last offset to look at; spans are cut to it.
    """
    first, last = cell
    is_here = (covered.stops > first) & (covered.starts <= last)
    edges_low = np.maximum(covered.starts[is_here], first)
    edges_high = np.minimum(covered.stops[is_here] - 1, last) + 1
    block = covered.index_of(spans.stops - 1)
    is_wanted = (block >= 0) & (spans.stops > first) & (spans.starts <= last)
    met = Spans._make(column[is_wanted] for column in spans)
    floors = np.maximum(covered.starts[block[is_wanted]], first)
    starts, stops = np.maximum(met.starts, floors), np.minimum(met.stops - 1, last) + 1
    # The ends of what is covered stand as empty spans, so that a hole beside them shows.
    starts = np.concatenate((starts, edges_low, edges_high))
    stops = np.concatenate((stops, edges_low, edges_high))
    order = np.lexsort((stops, starts))
    starts, stops = starts[order], stops[order]
    reached = np.maximum.accumulate(stops)
    holes = np.flatnonzero(starts[1:] > reached[:-1])
    holes = holes[covered.index_of(reached[holes]) >= 0]
    is_real = stops > starts
    doubles = 1 + np.flatnonzero((starts[1:] < reached[:-1]) & is_real[1:])
    return [
        *problem_at(
            ProblemKind.NOT_ACCOUNTED,
            holes,
            lambda index: f"[{reached[index]}, {starts[index + 1]})",
        ),
        *problem_at(
            ProblemKind.OVERLAP,
            doubles,
            lambda index: (
                f"{_named(met, order[index])} and {_named(met, order[np.argmax(stops[:index])])}"
            ),
        ),
    ]


def _named(spans: Spans, index: int) -> str:
    start, stop = spans.starts[index], spans.stops[index]
    return f"gap [{start}, {stop})" if spans.is_gap[index] else f"batch {start} to {stop - 1}"
