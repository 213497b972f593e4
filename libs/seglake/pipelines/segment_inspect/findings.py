"""Findings among the contents of files."""

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.pipelines.segment_inspect.batch_facts import DefectFound, Origin
from seglake.pipelines.segment_inspect.contents import Content, FileFound, HoleFound, TailFound
from seglake.segment_codec.formats.errors import TailKind


def finding_of(content: Content) -> Finding | None:
    """Return the finding on a shown item; None if the item is neither damaged, missing nor torn."""
    match content:
        case Finding():
            return content
        case FileFound(damage=str(damage)):
            return Finding(
                FindingKind.DAMAGED_FILE, f"{content.name}: {damage}", place=content.path
            )
        case HoleFound(is_explained=False):
            return _missing(content)
        case DefectFound():
            return _damaged(content)
        case TailFound():
            return _end(content)
        case _:
            return None


def defect_text(found: DefectFound) -> str:
    """Return the code and the detail of damage, and the nearest valid offsets around it."""
    before, after = found.previous_offset, found.next_offset
    between = ""
    if before is not None and after is not None:
        between = f"; between offsets {before} and {after}"
    elif before is not None:
        between = f"; after offset {before}"
    elif after is not None:
        between = f"; before offset {after}"
    return f"{found.defect.code}: {found.defect.detail}{between}"


def tail_text(found: TailFound) -> str:
    """Return the kind and the size of the bytes after a file's last batch."""
    return f"{found.tail.kind}: {found.tail.size_bytes} bytes to the end of the file"


def hole_text(found: HoleFound) -> str:
    """Return a text with the offsets of a hole, which no batch has."""
    first, last = found.start_offset, found.next_offset - 1
    return f"{first}: not there" if last == first else f"{first}-{last}: not there"


def _missing(found: HoleFound) -> Finding:
    place = _partition(found.origin)
    offsets = (found.start_offset, found.next_offset)
    return Finding(FindingKind.MISSING, f"{place}, {hole_text(found)}", place, (offsets,))


def _damaged(found: DefectFound) -> Finding:
    defect, segment = found.defect, str(found.origin.segment)
    text = f"{segment} at {defect.position}, {defect.size_bytes} bytes: {defect_text(found)}"
    facts = {
        "position": defect.position,
        "size_bytes": defect.size_bytes,
        "defect_code": str(defect.code),
    }
    hidden: list[OffsetRange] = []
    if found.previous_offset is not None and found.next_offset is not None:
        start = found.previous_offset + 1
        hidden.append((start, max(start, found.next_offset)))
    return Finding(FindingKind.DAMAGED, text, segment, tuple(hidden), facts)


def _end(found: TailFound) -> Finding:
    tail, segment = found.tail, str(found.origin.segment)
    kind = FindingKind.NOTE if tail.kind is TailKind.ZERO else FindingKind.TORN_END
    facts = {"position": tail.position, "size_bytes": tail.size_bytes}
    return Finding(kind, f"{segment} at {tail.position}: {tail_text(found)}", segment, (), facts)


def _partition(origin: Origin) -> str:
    """Return the name of the partition, or of the segment if the partition is unknown."""
    return str(origin.segment) if origin.topic is None else f"{origin.topic}-{origin.partition}"
