"""Options of a run of `deserialize`: sources of schemas, and records to decode again."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import LakeRegistry, lake_registries
from seglake.printable import show_count


class Again(NamedTuple):
    """Records that a run decodes in addition to the new ones.

    Attributes:
        rejects: whether records whose value was rejected are decoded again.
        everything: whether all typed rows and rejects of the selected topics are dropped first.
    """

    rejects: bool = False
    everything: bool = False


ONLY_NEW = Again()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeserializeChoice:
    """Options of a run of `deserialize`: sources of schemas, and records to decode again.

    Attributes:
        topic: the registries' topic.
        source_id: the only cluster to read; None for all.
        schemas: a file or folder with more schemas; None for none.
        again: records to decode besides the new ones.
    """

    topic: str
    source_id: str | None = None
    schemas: str | None = None
    again: Again = ONLY_NEW

    def registries(self, tables: LakeTables) -> list[LakeRegistry]:
        """Return the registries of the clusters to read, with the schemas from `schemas`.

        Raises:
            WrongCallError: there is no such cluster, registry or file, or shared tables would be
                written anew from one of several clusters.
        """
        given = [] if self.schemas is None else schemas_at(self.schemas, tables.storage)
        found = lake_registries(tables, self.topic, self.source_id, given, everywhere=True)
        if self.again.everything and self.source_id is not None and len(tables.source_ids()) > 1:
            raise WrongCallError(
                "--rebuild writes tables anew that several clusters share: leave out --source-id"
            )
        return found


def incomplete_registries(registries: Iterable[LakeRegistry]) -> list[str]:
    """Return a note for each registry of which the lake may lack schemas that values name."""
    notes = []
    for each in registries:
        if each.is_empty:
            notes.append(f"{each.source_id} has no registry; give its schemas with --schemas")
        missing = sum(gap.next_offset - gap.start_offset for gap in each.gaps)
        parts = [f"the lake lacks {show_count(missing, 'record')}"] if missing else []
        unread = len(each.registry.unread)
        parts += [f"{show_count(unread, 'record')} cannot be read"] if unread else []
        if parts:
            notes.append(
                f"{each.topic} of {each.source_id}: {', '.join(parts)}; each may have been a schema"
                " that rejected values name: see `seglake schemas`"
            )
    return notes
