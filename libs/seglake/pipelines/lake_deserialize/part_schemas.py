"""Finds the schemas of a topic's keys or values, and how to read each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seglake.value_codec.column_notes import Field, is_of_key
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.schema_groups import column_key
from seglake.value_codec.json.growth import grown, shape_of_column, shape_of_columns
from seglake.value_codec.json.shapes import Kind, Shape
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse
from seglake.value_decoding.json_shapes import JSON_FORMS, JsonTypes
from seglake.value_decoding.typings import KEY_COLUMN


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """Facts about a topic's keys or values.

    Attributes:
        part: "key" or "value".
        id_subject: subject of the topic's keys or values, which tells the context of schema ids.
        named: the schemas that frames and headers name.
        subject_ids: all ids of the topic's subject.
        subject: subject that a person names for bodies without a frame; "" for none.
        types: types of JSON.
        there: columns of keys and of values in an existing table of the topic.
    """

    part: str
    form: Form
    id_subject: str
    named: frozenset[str]
    subject_ids: Sequence[int]
    subject: str
    types: JsonTypes
    there: Sequence[Field]


def schema_uses(facts: PartFacts, readers: SchemaReaders) -> list[tuple[str, SchemaUse]]:
    """Return the name and the use of each schema, by rising id.

    The schemas are those of all values, and of all ids of the topic's subject, so most later values
    have a column. For Protobuf, the messages found in values are used, in all schemas.
    """
    if facts.form in JSON_FORMS:
        return _json_uses(facts, readers)
    if facts.form is Form.BARE:
        found = readers.of_subject(facts.subject)
        return [] if found is None else [_keyed(*found)]
    names = {*facts.named}
    if facts.form is Form.CONFLUENT:
        names |= {f"id {schema_id}" for schema_id in facts.subject_ids}
    messages = sorted({message for name in names if (message := message_of(name))})
    uses: dict[str, SchemaUse] = {}
    for name in sorted({_schema(name) for name in names}, key=_by_id):
        use = readers.named(facts.id_subject, name)
        if use.messages is None:
            uses[name] = use
        else:
            uses |= _messages(name, use, messages)
    return [*uses.items()]


def _messages(
    name: str, use: SchemaUse, messages: Sequence[str]
) -> Iterator[tuple[str, SchemaUse]]:
    """Yield the name and use of each Protobuf message of a schema to which values refer.

    If no value refers to one, yield those of the schema's first message.
    """
    for found in [use.of_named_message(each) for each in messages] or [use.of_message((0,))]:
        if found.reader is not None:
            yield _keyed(name, found)


def _keyed(name: str, use: SchemaUse) -> tuple[str, SchemaUse]:
    """Return the name of a schema's columns, and its use."""
    return column_key(name, use), use


def _schema(name: str) -> str:
    """Return the schema's part of a use's name, without its Protobuf message."""
    return " ".join(name.split(" ")[:2])


def message_of(name: str) -> str:
    """Return the message's part of a use's name; "" if the schema is not Protobuf."""
    return "".join(name.split(" ")[3:])


def _by_id(name: str) -> tuple[bool, int, str]:
    kind, _, number = name.partition(" ")
    return kind != "id", int(number) if kind == "id" else 0, name


def _json_uses(facts: PartFacts, readers: SchemaReaders) -> list[tuple[str, SchemaUse]]:
    """Return the use of plain JSON, or of each kind of schema in messages of Connect."""
    if facts.form is Form.JSON:
        shape = grown(_shape_there(facts), facts.types.shape)
        return [("", SchemaUse("", JsonReader(shape)))]
    uses = [readers.of_connect(text) for text in facts.types.schemas.values()]
    return [*uses, ("", TEXT_USE)] if facts.types.is_full or not uses else uses


def _shape_there(facts: PartFacts) -> Shape:
    """Return the JSON shape of the columns in the topic's existing table."""
    if facts.part == "value":
        return shape_of_columns(column for column in facts.there if not is_of_key(column))
    keys = [column for column in facts.there if column.name == KEY_COLUMN]
    return shape_of_column(keys[0]) if keys else Shape(Kind.NULL)
