"""A registry adds up to every schema that it ever had, and what deletions say of them."""

from collections.abc import Iterable

import pytest

from seglake.value_codec.registry.registry_records import Deletion, Registration, registry_record
from seglake.value_codec.registry.schema_registry import (
    RecordedAt,
    ResolveError,
    SchemaRegistry,
    StoredSchema,
)
from seglake.value_codec.registry.schemas import SchemaContent, SubjectVersion
from support.typed_disk import Pair, schema_pair, subject_deletion


def registry_of(pairs: Iterable[Pair]) -> SchemaRegistry:
    found = SchemaRegistry()
    for offset, (key, value) in enumerate(pairs):
        found.add(registry_record(key, value), RecordedAt(offset, None))
    return found


def deletions(registry: SchemaRegistry) -> list[tuple[int, Deletion | None]]:
    return [(stored.place.version, stored.deletion) for stored in registry.schemas]


def schema(registry: SchemaRegistry, subject: str) -> StoredSchema:
    [found] = [stored for stored in registry.schemas if stored.place.subject == subject]
    return found


def test_a_subject_s_deletion_is_soft_up_to_its_version_and_a_hard_one_stays_hard() -> None:
    versions = [schema_pair("a", number, number) for number in (1, 2, 3)]
    found = registry_of([*versions, schema_pair("a", 2), subject_deletion("a", 2)])
    assert deletions(found) == [(1, Deletion.SOFT), (2, Deletion.HARD), (3, None)]


def test_a_subject_s_deletion_leaves_other_subjects() -> None:
    found = registry_of([schema_pair("a", 1, 1), schema_pair("b", 1, 1), subject_deletion("a", 9)])
    assert [stored.deletion for stored in found.schemas] == [Deletion.SOFT, None]


def test_a_schema_that_is_registered_again_is_there_once_and_not_deleted() -> None:
    pair = schema_pair("a", 1, 1)
    found = registry_of([pair, schema_pair("a", 1), pair])
    assert deletions(found) == [(1, None)]
    assert found.schemas[0].recorded_at == RecordedAt(0, None)


def test_each_id_that_was_ever_given_out_keeps_its_schema() -> None:
    pairs = [schema_pair("a", 1, 1), schema_pair("a", 1), schema_pair("a", 1, 5, schema='"long"')]
    found = registry_of(pairs)
    assert [s.content.text for i in (1, 5) for s in found.of_id(".", i)] == ['"int"', '"long"']


def test_ids_of_contexts_are_apart() -> None:
    lab = schema_pair(":.lab:a", 1, 1, schema='"long"')
    found = registry_of([schema_pair("a", 1, 1), lab])
    assert [s.content.text for s in found.of_id(".lab", 1)] == ['"long"']
    assert [s.content.text for s in found.of_id(".", 1)] == ['"int"']
    assert [found.problem(stored) for stored in found.schemas] == ["", ""]


def test_an_id_with_two_schemas_is_a_problem_and_one_at_two_places_is_none() -> None:
    twice = registry_of([schema_pair("a", 1, 1), schema_pair("b", 1, 1)])
    assert [twice.problem(stored) for stored in twice.schemas] == ["", ""]
    other = registry_of([schema_pair("a", 1, 1), schema_pair("b", 1, 1, schema='"long"')])
    assert {other.problem(stored) for stored in other.schemas} == {"id 1 has several schemas"}


def reference(subject: str, version: int = 1, name: str = "") -> dict[str, object]:
    return {"name": name or subject, "subject": subject, "version": version}


def test_references_are_resolved_leaves_first_also_when_deleted() -> None:
    pairs = [
        schema_pair("leaf", 1, 1, schema='"leaf"'),
        schema_pair("leaf", 1),
        schema_pair("branch", 1, 2, schema='"branch"', references=[reference("leaf")]),
        schema_pair(
            "root", 1, 3, references=[reference("branch"), reference("leaf", name="again")]
        ),
    ]
    found = registry_of(pairs)
    resolved = found.resolve(schema(found, "root"))
    assert [*resolved.items()] == [
        ("leaf", '"leaf"'),
        ("branch", '"branch"'),
        ("again", '"leaf"'),
    ]


def test_the_latest_version_is_minus_one() -> None:
    pairs = [schema_pair("leaf", n, n, schema=f'"{n}"') for n in (1, 3, 2)]
    found = registry_of([*pairs, schema_pair("root", 1, 9, references=[reference("leaf", -1)])])
    assert found.resolve(schema(found, "root")) == {"leaf": '"3"'}


def test_references_stay_in_their_context_unless_they_name_another() -> None:
    named = [reference("leaf"), reference(":.other:leaf", name="other")]
    pairs = [
        schema_pair("leaf", 1, 1, schema='"default"'),
        schema_pair(":.lab:leaf", 1, 1, schema='"lab"'),
        schema_pair(":.other:leaf", 1, 1, schema='"other"'),
        schema_pair(":.lab:root", 1, 2, references=named),
    ]
    found = registry_of(pairs)
    imports = found.resolve(schema(found, ":.lab:root"))
    assert imports == {"leaf": '"lab"', "other": '"other"'}


def test_a_missing_reference_and_a_circle_are_named() -> None:
    found = registry_of(
        [
            schema_pair("a", 1, 1, references=[reference("b")]),
            schema_pair("b", 1, 2, references=[reference("a")]),
            schema_pair("c", 1, 3, references=[reference("d", 4)]),
        ]
    )
    with pytest.raises(ResolveError, match=r"reference in a circle: a \(a, version 1\)"):
        found.resolve(schema(found, "a"))
    assert found.problem(schema(found, "c")) == "reference missing: d (d, version 4)"


def test_records_that_cannot_be_read_are_kept_with_their_place() -> None:
    found = registry_of([(b"{", None)])
    assert [(at and at.offset, reason[:18]) for at, reason in found.unread] == [
        (0, "its key is no JSON")
    ]


def test_a_context_is_the_start_of_a_subject() -> None:
    places = [SubjectVersion(subject, 1) for subject in (":.lab:a:b", ":a", "a", ":.:a", ":.lab:")]
    assert [place.context for place in places] == [".lab", ".", ".", ".", ".lab"]


@pytest.mark.parametrize("deletion", [None, *Deletion])
def test_a_schema_that_an_earlier_run_knew_stays_deleted_as_it_was(
    deletion: Deletion | None,
) -> None:
    found = SchemaRegistry()
    content = SchemaContent(schema_type="AVRO", text='"int"')
    found.complete([Registration(SubjectVersion("a", 1), 7, content, deletion)])
    assert deletions(found) == [(1, deletion)]


_LAB, _PROD = ":.lab:", ":.prod:"


@pytest.mark.parametrize(
    ("subjects", "texts"),
    [
        (["t", f"{_LAB}t"], ["t"]),  # the default context first
        (["u", f"{_LAB}t"], [f"{_LAB}t"]),
        (["u", f"{_LAB}t", f"{_PROD}u"], [f"{_LAB}t"]),
        (["u", f"{_LAB}t", f"{_PROD}t"], [f"{_LAB}t", f"{_PROD}t"]),
        (["u", f"{_LAB}u"], ["u"]),  # the subject is in no context
        ([f"{_LAB}u"], [f"{_LAB}u"]),
        ([f"{_LAB}u", f"{_PROD}v"], [f"{_LAB}u", f"{_PROD}v"]),
    ],
)
def test_an_id_that_several_contexts_have_is_the_subject_s_own(
    subjects: list[str], texts: list[str]
) -> None:
    pairs = [schema_pair(subject, 1, 7, schema=f'"{subject}"') for subject in subjects]
    assert [s.content.text for s in registry_of(pairs).candidates("t", 7)] == [
        f'"{t}"' for t in texts
    ]


def test_an_id_of_another_subject_is_looked_for_in_the_contexts_of_the_subject() -> None:
    pairs = [
        schema_pair("u", 1, 7, schema='"u"'),
        schema_pair(f"{_LAB}u", 1, 7, schema='"lab"'),
        schema_pair(f"{_LAB}t", 1, 8),
    ]
    found = registry_of(pairs)
    assert [s.content.text for s in found.candidates("t", 7)] == ['"lab"']
    assert [s.content.text for s in found.candidates(":.:t", 7)] == ['"u"']
    assert found.candidates("t", 9) == ()
    pairs.append(schema_pair("t", 1, 9))
    assert [s.content.text for s in registry_of(pairs).candidates("t", 7)] == ['"u"']


@pytest.mark.parametrize("subject", ["m", ":.:m", ":.lab:m"])
@pytest.mark.parametrize("parent", ["t", ":.:t", ":.lab:t"])
def test_a_reference_without_a_context_has_that_of_its_schema(subject: str, parent: str) -> None:
    reference = [{"name": "M", "subject": subject, "version": 1}]
    pairs = [
        schema_pair("m", 1, 1, schema='"default"'),
        schema_pair(":.lab:m", 1, 1, schema='"lab"'),
        schema_pair(parent, 1, 2, references=reference),
    ]
    found = registry_of(pairs)
    is_lab = "lab" in subject or (subject == "m" and "lab" in parent)
    assert found.resolve(schema(found, parent)) == {"M": '"lab"' if is_lab else '"default"'}


@pytest.mark.parametrize(
    ("schema_type", "text", "problem"),
    [
        ("AVRO", "[", "the schema is no JSON"),
        ("JSON", "[", "the schema is no JSON"),
        ("JSON", "[]", "the schema is neither an object nor a boolean"),
        ("JSON", "true", ""),
        ("PROTOBUF", 'syntax = "proto3"; message A { B b = 1; }', 'error: "B" is not defined.'),
        ("PROTOBUF", 'syntax = "proto3"; message A { int32 b = 1; }', ""),
        ("XML", "<a/>", "unknown schema type XML"),
    ],
)
def test_a_text_that_is_no_schema_of_its_type_is_a_problem(
    schema_type: str, text: str, problem: str
) -> None:
    found = registry_of([schema_pair("t", 1, 1, schema=text, schemaType=schema_type)])
    [said] = [found.problem(stored) for stored in found.schemas]
    assert said.endswith(problem)
    assert bool(said) == bool(problem)
