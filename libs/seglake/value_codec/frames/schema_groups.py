"""Groups keys and values by the schema that wrote them, with their bodies."""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.connect.envelopes import envelopes
from seglake.value_codec.decoded import UNKNOWN_POSITION, Decoded, TooManyItemsError
from seglake.value_codec.frames.bodies import Bodies, bodies_of_bytes, without
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.frames import FRAME_REJECTS, NAMED, FrameKind, Frames, frames
from seglake.value_codec.frames.glue_bodies import decompressed
from seglake.value_codec.protobuf.message_paths import PathFault, message_paths
from seglake.value_codec.registry.schemas import SchemaType
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse

_ID_BYTES = {Form.CONFLUENT: 5, Form.APICURIO: 9}  # bytes of the magic byte and the id together


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
        values, reasons, positions = self.use.reader.read(*self.bodies)
        known = (reasons != 0) & (positions != UNKNOWN_POSITION)
        return Decoded(values, reasons, positions + np.where(known, self.frame_bytes, 0))

    def decoded_parts(self) -> Iterator[Decoded]:
        """Yield the decoded bodies in order: all at once, or in parts that need less memory."""
        try:
            yield self.decoded()
        except TooManyItemsError:
            for some in np.array_split(np.arange(len(self.rows)), 2):
                half = self._replace(
                    rows=self.rows[some],
                    bodies=self.bodies.of(some),
                    frame_bytes=self.frame_bytes[some],
                )
                yield from half.decoded_parts()


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

    def use_of(self, name: str) -> SchemaUse:
        """Return how to read values whose frame names this schema, as `shown_name` shows it."""
        return self.readers.named(self.subject, name)


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
    bodies = found.of(framed)
    read = frames(context.form, *bodies)
    for group in _framed_groups(bodies, read, context):
        yield group._replace(rows=framed[group.rows])
    if named:
        read = frames(context.form, *bodies_of_bytes(named.values()))
        for group in _groups(bodies_of_bytes(named.values()), read, context):
            after = group.bodies._replace(starts=group.bodies.starts + group.frame_bytes)
            bare = group._replace(
                rows=in_header[group.rows],
                bodies=found.of(in_header[group.rows]),
                frame_bytes=np.zeros_like(group.rows),
                problem_at=UNKNOWN_POSITION,
            )
            if group.use.messages is None:
                yield bare
            else:
                yield from _by_message(bare, after, is_in_header=True)


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
    found = message_paths(*indexed, is_glue=is_glue)
    for number, path in enumerate(found.paths):
        chosen = np.flatnonzero(found.indexes == number)
        sizes = group.frame_bytes[chosen]
        if isinstance(path, PathFault):
            use = group.use._replace(messages=None, problem=path.reason)
        else:
            use = group.use.of_message(path, is_glue=is_glue)
        part = group._replace(
            use=use,
            rows=group.rows[chosen],
            bodies=group.bodies.of(chosen),
            frame_bytes=sizes,
        )
        if is_in_header:
            yield part
        elif isinstance(path, PathFault):
            yield part._replace(problem_at=int(sizes[0]) + path.position)
        else:
            after = found.starts[chosen]
            yield part._replace(
                bodies=part.bodies._replace(starts=after),
                frame_bytes=sizes + after - indexed.starts[chosen],
                problem_at=int(sizes[0]),
            )


def _connect_groups(found: Bodies, context: GroupContext) -> Iterator[SchemaGroup]:
    """Yield payloads of Kafka Connect's envelopes by schema."""
    read = envelopes(*found)
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


def _framed_groups(bodies: Bodies, read: Frames, context: GroupContext) -> Iterator[SchemaGroup]:
    """Yield groups of values by the schema in their frames; the bodies have no frames."""
    for group in _groups(bodies, read, context):
        inner = group.bodies._replace(starts=group.bodies.starts + group.frame_bytes)
        group = group._replace(bodies=inner)
        is_glue = context.form is Form.GLUE
        is_packed = is_glue and group.use.problem is None and _is_compressed(group, read)
        for plain in _decompressed(group) if is_packed else [group]:
            if plain.use.problem is None and plain.use.messages is not None:
                yield from _by_message(plain, plain.bodies, is_glue=is_glue)
            else:
                yield plain


def _is_compressed(group: SchemaGroup, read: Frames) -> bool:
    """Return whether the bodies of a group are compressed."""
    return bool((read.kinds[group.rows] == FrameKind.ZLIB_GUID).all())


def _groups(bodies: Bodies, read: Frames, context: GroupContext) -> Iterator[SchemaGroup]:
    """Yield groups of values by the schema in their frames; the bodies still have frames."""
    for kind, reason in FRAME_REJECTS.items():
        rows = np.flatnonzero(read.kinds == kind)
        if kind is FrameKind.NO_FRAME and context.form in _ID_BYTES:
            unknown = rows[_have_an_id(bodies.of(rows), _ID_BYTES[context.form])]
            if len(unknown):
                use = SchemaUse("", problem=RejectReason.UNKNOWN_SCHEMA_ID)
                frame_bytes = np.zeros_like(unknown)
                yield SchemaGroup("", use, unknown, bodies.of(unknown), frame_bytes, 1)
            rows = np.setdiff1d(rows, unknown)
        if len(rows):
            use = SchemaUse("", problem=reason)
            problem_at = int(kind is FrameKind.BAD_COMPRESSION)
            yield SchemaGroup("", use, rows, bodies.of(rows), np.zeros_like(rows), problem_at)
    for kind in NAMED:
        for name, rows in zip(read.names.get(kind, ()), read.rows_of(kind), strict=True):
            shown = shown_name(kind, name)
            frame_bytes = np.full(len(rows), read.sizes[kind])
            use = context.use_of(shown)
            yield SchemaGroup(shown, use, rows, bodies.of(rows), frame_bytes, read.name_at)


def _have_an_id(bodies: Bodies, least: int) -> NDArray[np.bool_]:
    """Return which values have a minimum size and begin with the magic byte of ids."""
    found = bodies.ends - bodies.starts >= least
    found[found] = bodies.data[bodies.starts[found]] == 0
    return found


def shown_name(kind: FrameKind, name: bytes) -> str:
    """Return the name of a schema in a frame, for a person."""
    match kind:
        case FrameKind.ID:
            return f"id {int.from_bytes(name, 'big')}"
        case FrameKind.FINGERPRINT:
            return f"fingerprint {name[::-1].hex()}"
    return f"GUID {UUID(bytes=name)}"


def _decompressed(group: SchemaGroup) -> Iterator[SchemaGroup]:
    """Yield a group's bodies after decompression, in batches, and those that do not decompress."""
    for batch in decompressed(group.bodies):
        sizes = np.zeros_like(batch.rows)
        yield group._replace(rows=group.rows[batch.rows], bodies=batch.bodies, frame_bytes=sizes)
        for reason in dict.fromkeys(batch.problems.values()):
            failed = np.array([r for r, found in batch.problems.items() if found is reason])
            yield group._replace(
                use=group.use._replace(reader=None, problem=reason),
                rows=group.rows[failed],
                bodies=group.bodies.of(failed),
                frame_bytes=group.frame_bytes[failed],
                problem_at=UNKNOWN_POSITION,
            )
