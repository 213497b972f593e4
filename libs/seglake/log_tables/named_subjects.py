"""Checks the subjects that a person names for bodies without a frame (`values.subjects`)."""

from collections.abc import Callable, Iterable

from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.value_codec.registry.schema_registry import SchemaRegistry


def check_subjects(
    subjects: Iterable[tuple[str, str]],
    registries: Iterable[SchemaRegistry],
    selects_topic: Callable[[str], bool],
) -> None:
    """Check that a registry has each subject that is named for a selected topic.

    Args:
        subjects: pairs of `<topic>-<part>` and a subject, of Protobuf `<subject>#<message>`.
        registries: the registries of all clusters.
        selects_topic: returns whether the call reads a topic.

    Raises:
        WrongCallError: no registry has one of the subjects.
    """
    known = {stored.place.subject for each in registries for stored in each.schemas}
    for name, text in subjects:
        subject = text.partition("#")[0]
        if subject not in known and selects_topic(name.rpartition("-")[0]):
            raise WrongCallError(
                f"values.subjects.{name}: no registry has a subject"
                f" {subject}{did_you_mean(subject, sorted(known))}; seglake schemas lists them"
            )
