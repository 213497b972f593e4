"""Reader of the values of one Protobuf message: a ColumnReader."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import compress
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.decoded import (
    MOST_BYTES,
    UNKNOWN_POSITION,
    Decoded,
    TooManyItemsError,
)
from seglake.value_codec.protobuf.columns import columns_of
from seglake.value_codec.protobuf.converters import Faults
from seglake.value_codec.protobuf.wire_faults import has_more_entries, wire_fault
from seglake.value_codec.reject_reasons import RejectReason

_AT_ONCE = 2_000  # parsed messages at a time; more would not fit the CPU's caches
_ENTRY_BYTES = 9  # of a column: a number or an offset, and whether it is null
_ITEM_BYTES = 2  # least bytes of a message in a list


class ProtobufReader:
    """Reader of values of one Protobuf message type."""

    # Any: google.protobuf has no type hints.
    def __init__(self, message: Any) -> None:
        """Make the columns of a message's descriptor."""
        from google.protobuf.message_factory import GetMessageClass

        self._message = message
        self.message_class: Any = GetMessageClass(message)
        self._columns = columns_of(message)

    @property
    def type(self) -> pa.DataType:
        """Return the Arrow type of the values: see `columns` and `converters`."""
        found: pa.DataType = self._columns.type
        return found

    def read(self, bodies: Bodies) -> Decoded:
        """Decode bodies, as `ColumnReader` says."""
        data, starts, ends = bodies
        parts: list[Any] = []
        content = memoryview(cast("Any", np.ascontiguousarray(data)))
        reasons = np.zeros(len(starts), np.uint8)
        positions = np.zeros(len(starts), np.int64)
        with _without_search_for_cycles():
            first = size = 0
            while first < len(starts) or not parts:
                some = slice(first, first + self._count_at_once((ends - starts)[first:]))
                limits = zip(starts[some].tolist(), ends[some].tolist(), strict=True)
                texts = [content[begin:after] for begin, after in limits]
                parts.append(self._part(texts, reasons[some], positions[some]))
                first += len(texts)
                size += parts[-1].nbytes
                if size > MOST_BYTES and len(starts) > 1:
                    raise TooManyItemsError
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return Decoded(whole, reasons, positions)

    def _count_at_once(self, sizes: NDArray[np.int64]) -> int:
        """Return how many of the next bodies fit into memory whatever they hold; at least one."""
        total = np.cumsum(sizes[:_AT_ONCE])
        return max(1, int(np.searchsorted(total, self._safe_bytes, side="right")))

    @property
    def _safe_bytes(self) -> int:
        """Return the size of bodies whose columns fit into memory, however many items they have."""
        return _ITEM_BYTES * MOST_BYTES // (_ENTRY_BYTES * self._columns.count)

    def _is_too_large(self, body: memoryview) -> bool:
        """Return whether the columns of a body need too much memory."""
        if len(body) <= self._safe_bytes:
            return False
        most = MOST_BYTES // _ENTRY_BYTES
        return has_more_entries(bytes(body), self._message, self._columns.counts, most)

    def _part(
        self, bodies: list[memoryview], reasons: NDArray[np.uint8], positions: NDArray[np.int64]
    ) -> Any:
        """Return the structs of bodies; set reasons and positions of those that are no messages."""
        if len(bodies) == 1 and self._is_too_large(bodies[0]):
            reasons[0] = RejectReason.TOO_LARGE.code
            return cast("Any", pa).nulls(1, self.type)
        faults: Faults = {}
        try:
            found, is_sound = self._built(self._parsed(bodies), faults)
        except (UnicodeDecodeError, pa.ArrowInvalid):  # older schemas allow texts of any bytes
            if len(bodies) > 1:
                middle = len(bodies) // 2
                halves = slice(0, middle), slice(middle, len(bodies))
                parts = [self._part(bodies[h], reasons[h], positions[h]) for h in halves]
                return pa.concat_arrays(parts)
            faults = {}
            found, is_sound = self._built([None], faults)
        for row in np.flatnonzero(~is_sound).tolist():
            fault = wire_fault(bytes(bodies[row]), self._message)
            reason, positions[row] = fault or (RejectReason.BAD_VARINT, UNKNOWN_POSITION)
            reasons[row] = reason.code
        places = np.cumsum(is_sound) - 1
        for row, late in faults.items():
            reasons[row], positions[row], is_sound[row] = late.code, UNKNOWN_POSITION, False
        if is_sound.all():
            return found
        return found.take(pa.array(places, pa.int64(), mask=~is_sound))

    def _built(self, parsed: list[Any], faults: Faults) -> tuple[Any, NDArray[np.bool_]]:
        """Return the structs of messages, and which bodies are one; add faults by row."""
        are_messages = [message is not None for message in parsed]
        is_sound = np.array(are_messages, np.bool_)
        messages = [*compress(parsed, are_messages)]
        return self._columns.build(messages, np.flatnonzero(is_sound), faults), is_sound

    def _parsed(self, bodies: list[memoryview]) -> list[Any]:
        """Return the message of each body; None for one that the library refuses."""
        from google.protobuf.message import DecodeError

        try:
            return [*map(self.message_class.FromString, bodies)]
        except DecodeError:
            if len(bodies) == 1:
                return [None]
        middle = len(bodies) // 2
        return self._parsed(bodies[:middle]) + self._parsed(bodies[middle:])


@contextmanager
def _without_search_for_cycles() -> Iterator[None]:
    """Pause Python's garbage collector, which visits each message again and again.

    Messages refer to nothing that refers to them, so counts of references free them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
