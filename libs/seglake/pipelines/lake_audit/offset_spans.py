"""Checks that each covered offset lies in exactly one batch or current gap. One sweep. Pure.

Batches of a refill may overlap others, whose records they complete, but no gap.
"""

from typing import NamedTuple

import numpy as np

from seglake.pipelines.lake_audit.ledger import FIRST_LAYER, Blocks, Flags, Offsets
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem_at


class Spans(NamedTuple):
    """Half-open ranges of offsets, in any order; `is_gap` tells gaps from batches.

    `layers` are the batches' layers, see `layers_of`; a gap has FIRST_LAYER.
    """

    starts: Offsets
    stops: Offsets
    is_gap: Flags
    layers: Offsets

    def of_layer(self, layer: int) -> "Spans":
        """Return the batches of a layer, and all gaps."""
        chosen = self.is_gap | (self.layers == layer)
        return Spans._make(column[chosen] for column in self)


def span_problems(spans: Spans, covered: Blocks, cell: tuple[int, int]) -> list[Problem]:
    """Return offsets that no span or two spans account for, of what is covered inside a cell.

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
    met = met._replace(
        starts=np.maximum(met.starts, floors), stops=np.minimum(met.stops - 1, last) + 1
    )
    doubles = [
        problem
        for layer in np.unique(np.append(met.layers, FIRST_LAYER)).tolist()
        for problem in _doubles(met.of_layer(layer))
    ]
    return [*_holes(met, covered, edges_low, edges_high), *doubles]


def _holes(met: Spans, covered: Blocks, edges_low: Offsets, edges_high: Offsets) -> list[Problem]:
    """Return the covered offsets that no span accounts for."""
    # The ends of what is covered stand as empty spans, so that a hole beside them shows.
    starts = np.concatenate((met.starts, edges_low, edges_high))
    stops = np.concatenate((met.stops, edges_low, edges_high))
    order = np.lexsort((stops, starts))
    starts, reached = starts[order], np.maximum.accumulate(stops[order])
    holes = np.flatnonzero(starts[1:] > reached[:-1])
    holes = holes[covered.index_of(reached[holes]) >= 0]
    return problem_at(
        ProblemKind.NOT_ACCOUNTED,
        holes,
        lambda index: f"[{reached[index]}, {starts[index + 1]})",
    )


def _doubles(met: Spans) -> list[Problem]:
    """Return the spans that begin inside of others."""
    order = np.lexsort((met.stops, met.starts))
    starts, stops = met.starts[order], met.stops[order]
    reached = np.maximum.accumulate(stops)
    doubles = 1 + np.flatnonzero((starts[1:] < reached[:-1]) & (stops > starts)[1:])
    return problem_at(
        ProblemKind.OVERLAP,
        doubles,
        lambda index: (
            f"{_named(met, order[index])} and {_named(met, order[np.argmax(stops[:index])])}"
        ),
    )


def _named(spans: Spans, index: int) -> str:
    start, stop = spans.starts[index], spans.stops[index]
    return f"gap [{start}, {stop})" if spans.is_gap[index] else f"batch {start} to {stop - 1}"
