"""A list of the schemas of a lake's registries, as text for a person or as JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from seglake.errors import ExitCode
from seglake.findings.findings import listed
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.printable import as_lines, show_count
from seglake.value_codec.registry.schema_registry import StoredSchema

_HEADINGS = ("subject", "version", "id", "type", "guid", "state")


class SchemaList(NamedTuple):
    """All schemas of some registries.

    Attributes:
        registries: the registries, by source and topic.
    """

    registries: Sequence[LakeRegistry]

    @property
    def exit_code(self) -> ExitCode:
        """Return 3 if values of a schema cannot be decoded, or a schema may be missing, else 0."""
        needs_a_look = any(
            found.gaps
            or found.registry.unread
            or any(map(found.registry.problem, found.registry.schemas))
            for found in self.registries
        )
        return ExitCode.LOOK if needs_a_look else ExitCode.DONE

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the list as a mapping for `--json`."""
        return {
            "registries": [_registry_facts(found) for found in self.registries],
            "exit_code": self.exit_code,
        }

    def to_json(self) -> str:
        """Return the mapping as JSON on one line."""
        return json.dumps(self.to_mapping(), sort_keys=True)

    def to_text(self) -> str:
        """Return the list as text for a person."""
        return as_lines(line for found in self.registries for line in _lines(found))


def _registry_facts(found: LakeRegistry) -> dict[str, Any]:
    """Return a registry's facts as a mapping, for JSON."""
    return {
        "source_id": found.source_id,
        "topic": found.topic,
        "records": found.record_count,
        "schemas": [_schema_facts(found, stored) for stored in found.registry.schemas],
        "unreadable": [
            {"offset": None if at is None else at.offset, "reason": reason}
            for at, reason in found.registry.unread
        ],
        "gaps": [[gap.start_offset, gap.next_offset, gap.cause] for gap in found.gaps],
    }


def _schema_facts(found: LakeRegistry, stored: StoredSchema) -> dict[str, Any]:
    """Return a schema's facts as a mapping, for JSON."""
    return {
        **stored.facts(),
        "id": stored.schema_id,
        "schema": stored.content.text,
        "references": [reference._asdict() for reference in stored.content.references],
        "problem": found.registry.problem(stored) or None,
    }


def _lines(found: LakeRegistry) -> Iterator[str]:
    """Yield a registry's headline, its schemas, and the facts that a person should check."""
    yield _headline(found)
    rows = [_HEADINGS, *(_row(found, stored) for stored in found.registry.schemas)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if len(rows) > 1:
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()
    unread = (
        f"offset {'?' if at is None else at.offset} of {found.topic}: {reason}"
        for at, reason in found.registry.unread
    )
    yield from listed("unreadable", [*unread])
    for gap in found.gaps:
        offsets = show_count(gap.next_offset - gap.start_offset, "offset")
        places = f"[{gap.start_offset}, {gap.next_offset}) of {gap.key}"
        yield f"missing: {offsets} {gap.cause} in {places}; each may have been a schema"


def _headline(found: LakeRegistry) -> str:
    """Return a line with the number of schemas of each type, and of those with a problem."""
    ids = {(stored.place.context, stored.schema_id) for stored in found.registry.schemas}
    kinds = Counter(stored.content.schema_type for stored in found.registry.schemas)
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    problems = sum(1 for stored in found.registry.schemas if found.registry.problem(stored))
    schemas = show_count(len(found.registry.schemas), "schema")
    text = f"{found.topic} of {found.source_id}: {schemas} with {show_count(len(ids), 'id')}"
    text += f" ({counted})" if counted else ""
    return f"{text}; {problems} cannot decode values" if problems else text


def _row(found: LakeRegistry, stored: StoredSchema) -> tuple[str, ...]:
    """Return the cells of a schema's line."""
    content = stored.content
    states: Iterable[str] = (
        f"{stored.deletion} deleted" if stored.deletion else "",
        "encrypts" if content.is_encrypting else "",
        found.registry.problem(stored),
    )
    return (
        stored.place.subject,
        str(stored.place.version),
        str(stored.schema_id),
        content.schema_type,
        str(stored.guid),
        ", ".join(filter(None, states)),
    )
