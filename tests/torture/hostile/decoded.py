"""The records of a walked segment by both decoders, which must agree on each of its batches."""

from collections.abc import Sequence
from functools import cache

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.columns import ColumnBuilder
from seglake.segment_codec.kernels.outcomes import PiecesOutcome
from seglake.segment_codec.walk.segment import Item
from support.decoders import by_reference, records_of
from support.run_walks import BothWalks
from support.walks import units_of

Outcome = list[Record] | DefectCode
Found = dict[int, Outcome]  # by position

_ALL = (-(1 << 63), (1 << 63) - 1)
_MOST_WAITING = 1 << 20


def check_decoding(
    walks: BothWalks, max_bytes: int, offsets: tuple[int, int], *, is_by_runs: bool
) -> Found:
    """What both decoders make of each batch.

    Args:
        offsets: only records of these, [floor, ceiling), are wanted of the fast one.
        is_by_runs: it is given the runs, as a conversion does, else their batches.
    """
    floor, ceiling = offsets
    expected = {unit.position: _reference(unit, max_bytes) for unit in units_of(walks.items)}
    wanted = {
        position: [record for record in outcome if floor <= record.offset < ceiling]
        if isinstance(outcome, list)
        else outcome
        for position, outcome in expected.items()
    }
    found = _Columns(max_bytes, floor, ceiling).of(walks.runs if is_by_runs else walks.items)
    for position in wanted.keys() | found.keys():
        assert found.get(position) == wanted.get(position), f"the decoders differ at {position}"
    return expected


def _reference(unit: Unit, max_bytes: int) -> Outcome:
    try:
        return by_reference(unit, max_bytes)
    except DefectError as error:
        return error.code


def decoded_count(items: Sequence[Item | BatchRun], max_bytes: int) -> int:
    """How many batches of a walk the fast decoder was given; their rows are looked at by no one."""
    return len(_Columns(max_bytes, *_ALL, keeps_rows=False).of(items))


@cache
def _builder(max_bytes: int) -> ColumnBuilder:
    """One for all segments, as it is one for all of a task."""
    return ColumnBuilder(max_bytes)


class _Columns:
    """The fast decoder, fed as `SplitDecoder` feeds it."""

    def __init__(
        self, max_bytes: int, floor: int, ceiling: int, *, keeps_rows: bool = True
    ) -> None:
        self._max_bytes = max_bytes
        self._builder = _builder(max_bytes)
        self._keeps_rows = keeps_rows
        self._floor, self._ceiling = floor, ceiling
        self._found: Found = {}

    def of(self, items: Sequence[Item | BatchRun]) -> Found:
        for item in items:
            if isinstance(item, BatchRun):
                self._add_run(item)
            elif not isinstance(item, Defect | Tail):
                self._add(item)
        self._flush()
        return self._found

    def _add_run(self, run: BatchRun) -> None:
        start = 0
        while start < len(run):
            if not self._builder.accepts(run):
                self._flush()
            part = run.part(start, len(run))
            added = self._builder.add_run(part, self._floor, self._ceiling, 1 << 20)
            if not added:
                self._add(run.batch(start))
            start += added or 1

    def _add(self, unit: Unit) -> None:
        # Alone where it is old: an old wrapper is judged by those before it, too.
        is_old = not isinstance(unit, RecordBatch)
        if is_old or not self._builder.accepts(unit) or self._builder.plain_bytes > _MOST_WAITING:
            self._flush()
        try:
            self._builder.add(unit, self._floor, self._ceiling)
        except DefectError as error:
            self._found[unit.position] = error.code

    def _flush(self) -> None:
        columns, outcomes = self._builder.flush()
        records, start = records_of(columns) if self._keeps_rows else [], 0
        for outcome in outcomes:
            if isinstance(outcome, PiecesOutcome):
                start = self._of_pieces(outcome, records, start)
                continue
            rows = records[start : outcome.row_stop]
            self._found[outcome.unit.position] = rows if outcome.fault is None else outcome.fault[0]
            start = outcome.row_stop

    def _of_pieces(self, whole: PiecesOutcome, records: Sequence[Record], start: int) -> int:
        """A wrapper that the plain decoder refuses; it must give the same records of each part."""
        code = _reference(whole.unit, self._max_bytes)
        assert isinstance(code, DefectCode), whole
        self._found[whole.unit.position] = code
        for piece in whole.pieces:
            if isinstance(piece, Defect):
                continue
            expected = by_reference(piece.unit, self._max_bytes) if self._keeps_rows else []
            wanted = [each for each in expected if self._floor <= each.offset < self._ceiling]
            assert list(records[start : piece.row_stop]) == wanted, piece
            start = piece.row_stop
        return start
