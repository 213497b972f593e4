"""Groups keys and values by the schema that wrote them, with their bodies."""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies, bodies_of_bytes, without
from seglake.value_codec.connect.envelopes import envelopes
from seglake.value_codec.decoded import UNKNOWN_POSITION, Decoded, TooManyItemsError
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.frames import frames
from seglake.value_codec.frames.glue_bodies import decompressed
from seglake.value_codec.protobuf.message_paths import PathFault, message_paths
from seglake.value_codec.registry.schemas import SchemaType
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse

_BATCH_BYTES = 64 << 20  # decompressed bytes in a batch, besides the last body


class SchemaGroup(NamedTuple):
    """Keys or values of one schema, or rejected for one reason.

    Attributes:
        name: the schema, as the frames name it; "" without a frame.
        use: how the bodies are read, or why they are rejected.
        rows: index of each body among the keys or values given.
        bodies: the bodies, without frames.
        frame_bytes: number of bytes that precede each body in its key or value; 0 if the schema's
            name is in a header, or if the body was compressed.
        problem_at: if the bodies are rejected, the position of the byte in the key or value that
            decides it; UNKNOWN_POSITION if it is in a header or not known.
    """

    name: str
    use: SchemaUse
    rows: NDArray[np.int64]
    bodies: Bodies
    frame_bytes: NDArray[np.int64]
    problem_at: int = UNKNOWN_POSITION

    @property
    def key(self) -> str:
        """Return the name for the bodies' columns: the schema, and for Protobuf its message."""
        return column_key(self.name, self.use)

    def decoded(self) -> Decoded:
        """Decode the bodies; positions are those in the keys or values.

        Raises:
            TooManyItemsError: several bodies need too much memory together.
        """
        if self.use.reader is None:
            count = len(self.rows)
            reason = self.use.problem or RejectReason.UNSUPPORTED_SCHEMA
            codes = np.full(count, reason.code, np.uint8)
            return Decoded(pa.nulls(count), codes, np.full(count, self.problem_at, np.int64))
        values, reasons, positions = self.use.reader.read(self.bodies)
        known = (reasons != 0) & (positions != UNKNOWN_POSITION)
        return Decoded(values, reasons, positions + np.where(known, self.frame_bytes, 0))

    def decoded_parts(self) -> Iterator[Decoded]:
        """Yield the decoded bodies in order: all at once, or in parts that need less memory."""
        try:
            yield self.decoded()
        except TooManyItemsError:
            for some in np.array_split(np.arange(len(self.rows)), 2):
                yield from self.of(some).decoded_parts()

    def of(self, some: NDArray[np.int64]) -> "SchemaGroup":
        """Return the group of the bodies with these indexes."""
        return self._replace(
            rows=self.rows[some],
            bodies=self.bodies.of(some),
            frame_bytes=self.frame_bytes[some],
        )


def column_key(name: str, use: SchemaUse) -> str:
    """Return the name for the columns of a schema, or of a message of Protobuf.

    Args:
        name: the schema, as frames name it.
        use: how its values are read.
    """
    is_message = use.name.startswith(f"{SchemaType.PROTOBUF} ")
    return f"{name} {use.name}" if is_message else name


class GroupContext(NamedTuple):
    """Facts of a topic that are not in its frames.

    Attributes:
        form: form of the keys or values.
        readers: the readers of the registry's schemas.
        subject: subject of the keys or values, which tells the context of schema ids.
        plain: name and use of values that name no schema.
        columns: names of the schemas of Kafka Connect that have columns; JSON of others is read as
            `plain`. None for all.
    """

    form: Form
    readers: SchemaReaders
    subject: str
    plain: tuple[str, SchemaUse] = ("", TEXT_USE)
    columns: Container[str] | None = None


def schema_groups(
    found: Bodies, headers: Mapping[int, bytes], context: GroupContext
) -> Iterator[SchemaGroup]:
    """Yield all keys or values by schema; each is in one group.

    Args:
        found: keys or values with their frames.
        headers: for the index of a key or value, its last header with a schema id. Empty unless
            the topic has Confluent's form.
        context: form of the topic, and its schemas.
    """
    if context.form is Form.CONNECT_JSON:
        yield from _connect_groups(found, context)
        return
    if context.form in (Form.JSON, Form.BARE):
        rows = np.arange(len(found.starts))
        yield SchemaGroup(*context.plain, rows, found, np.zeros_like(rows))
        return
    named = headers if context.form is Form.CONFLUENT else {}
    in_header = np.fromiter(named, np.int64, len(named))
    framed = without(len(found.starts), in_header)
    for group in _groups(found.of(framed), context):
        inner = group._replace(rows=framed[group.rows])
        if group.use.problem is None and group.use.messages is not None:
            yield from _by_message(inner, group.bodies, is_glue=context.form is Form.GLUE)
        else:
            yield inner
    for group in _groups(bodies_of_bytes(named.values()), context):
        bare = group._replace(
            rows=in_header[group.rows],
            bodies=found.of(in_header[group.rows]),
            frame_bytes=np.zeros_like(group.rows),
            problem_at=UNKNOWN_POSITION,
        )
        if group.use.messages is None:
            yield bare
        else:
            yield from _by_message(bare, group.bodies, is_in_header=True)


def _by_message(
    group: SchemaGroup, indexed: Bodies, *, is_in_header: bool = False, is_glue: bool = False
) -> Iterator[SchemaGroup]:
    """Yield a group by the Protobuf message of each value.

    Args:
        group: values of a Protobuf schema.
        indexed: bytes that begin with message indexes: the values' bodies, or rests of headers.
        is_in_header: whether these are headers.
        is_glue: whether the values have Glue's index.
    """
    found = message_paths(indexed, is_glue=is_glue)
    for number, path in enumerate(found.paths):
        chosen = np.flatnonzero(found.indexes == number)
        part = group.of(chosen)
        if isinstance(path, PathFault):
            use, fault_at = part.use._replace(messages=None, problem=path.reason), path.position
        else:
            use, fault_at = part.use.of_message(path, is_glue=is_glue), 0
        part = part._replace(use=use)
        if not is_in_header:
            after = found.starts[chosen]
            part = part._replace(
                bodies=part.bodies._replace(starts=after),
                frame_bytes=part.frame_bytes + after - indexed.starts[chosen],
                problem_at=int(part.frame_bytes[0]) + fault_at,
            )
        yield part


def _connect_groups(found: Bodies, context: GroupContext) -> Iterator[SchemaGroup]:
    """Yield payloads of Kafka Connect's envelopes by schema."""
    read = envelopes(found)
    groups: dict[tuple[str, RejectReason | None], tuple[int, SchemaUse]] = {}
    of_text = np.zeros(len(read.texts), np.int64)  # many texts may have one use
    for number, text in enumerate(read.texts):
        name, use = context.readers.of_connect(text)
        if use.problem is None and context.columns is not None and name not in context.columns:
            name, use = context.plain
        of_text[number], _ = groups.setdefault((name, use.problem), (len(groups), use))
    whole = np.flatnonzero(read.schemas >= 0)
    numbers = of_text[read.schemas[whole]]
    order = whole[np.argsort(numbers, kind="stable")]
    ends = np.cumsum(np.bincount(numbers, minlength=len(groups)))
    parts = np.split(order, ends[:-1])
    for ((name, _), (_, use)), rows in zip(groups.items(), parts, strict=False):
        payloads = Bodies(found.data, read.starts[rows], read.ends[rows])
        frame_bytes = payloads.starts - found.starts[rows]
        yield SchemaGroup(name, use, rows, payloads, frame_bytes, 0)
    bad = np.flatnonzero(read.reasons)
    faults = zip(read.reasons[bad].tolist(), read.positions[bad].tolist(), strict=True)
    for code, position in sorted({*faults}):
        rows = bad[(read.reasons[bad] == code) & (read.positions[bad] == position)]
        use = SchemaUse("", problem=RejectReason.of_code(code))
        yield SchemaGroup("", use, rows, found.of(rows), np.zeros_like(rows), position)


def _groups(framed: Bodies, context: GroupContext) -> Iterator[SchemaGroup]:
    """Yield groups of values by the schema in their frames; the bodies have no frames."""
    for frame, rows in frames(context.form, framed):
        use = SchemaUse("", problem=frame.problem)
        if frame.problem is None:
            use = context.readers.named(context.subject, frame.name)
        bodies = framed.of(rows)
        bodies = bodies._replace(starts=bodies.starts + frame.size)
        frame_bytes = np.full(len(rows), frame.size)
        group = SchemaGroup(frame.name, use, rows, bodies, frame_bytes, frame.decided_at)
        if frame.is_packed and use.problem is None:
            yield from _unpacked(group)
        else:
            yield group


def _unpacked(group: SchemaGroup) -> Iterator[SchemaGroup]:
    """Yield a group's bodies after decompression, in batches, and those that do not decompress."""
    plain: dict[int, bytes] = {}
    problems: dict[RejectReason, list[int]] = {}
    held = 0
    data, starts, ends = group.bodies
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        found = decompressed(data[start:end].tobytes())
        if isinstance(found, RejectReason):
            problems.setdefault(found, []).append(row)
        else:
            plain[row] = found
            held += len(found)
        if held > _BATCH_BYTES or row == len(starts) - 1:
            bodies = bodies_of_bytes(plain.values())
            sizes = np.zeros(len(plain), np.int64)
            rows = group.rows[np.fromiter(plain, np.int64)]
            yield group._replace(rows=rows, bodies=bodies, frame_bytes=sizes)
            plain, held = {}, 0
    for reason, failed in problems.items():
        use = group.use._replace(reader=None, problem=reason)
        yield group.of(np.array(failed))._replace(use=use, problem_at=UNKNOWN_POSITION)
