"""Plans topics with typed tables before their values are read.

The columns of a table are those of all schemas that values name, so a run surveys values before it
decodes them. But the values of a topic that has its tables nearly always name schemas of its
subjects, for which the tables have columns. So such values are decoded at once. If a task meets
another schema, the topic is surveyed and decoded again: no outcome depends on whether it was.
"""

from collections.abc import Sequence

from seglake.lake.typed_tables import TypedTable
from seglake.pipelines.lake_deserialize.part_schemas import message_of, schema_uses
from seglake.pipelines.lake_deserialize.topic_plan import TopicFacts, TopicForm
from seglake.value_codec.frames.forms import FRAMED_FORMS, HEADERS, Form
from seglake.value_codec.schema_readers import SchemaReaders
from seglake.value_decoding.decoded_parts import PartTyping


class UnforeseenError(Exception):
    """Error for a topic that has to be surveyed before it is decoded."""


def may_be_foreseen(facts: TopicFacts) -> bool:
    """Return whether the tables and subjects of a topic may tell the schemas of its values."""
    if facts.work.retried is not None or not facts.known or not facts.known[0].value_form:
        return False
    framed = [part for each in HEADERS if (part := facts.part(each)).form in FRAMED_FORMS]
    return all(part.form is Form.CONFLUENT and part.subject_ids for part in framed)


def with_foreseen(facts: TopicFacts, form: TopicForm, readers: SchemaReaders) -> TopicForm:
    """Return the plan of a topic that was not surveyed, with the schemas that it foresees.

    Raises:
        UnforeseenError: the values decide about columns of the tables.
    """

    def checked(typing: PartTyping) -> PartTyping:
        if typing.form not in FRAMED_FORMS:
            return typing
        names = [name for name, _ in schema_uses(facts.part(typing.part), readers)]
        messages = {message_of(name) for name in names} - {""}
        if len(messages) > 1 or not _have_columns(form.tables, facts.known):
            raise UnforeseenError
        return typing._replace(foreseen=frozenset(names))

    key = None if form.key is None else checked(form.key)
    return TopicForm(form.tables, key, checked(form.value))


def _have_columns(planned: Sequence[TypedTable], known: Sequence[TypedTable]) -> bool:
    """Return whether tables exist with all planned columns and fields."""
    there = {each.table.name: each.table.schema for each in known}
    return all(there.get(each.table.name) == each.table.schema for each in planned)
