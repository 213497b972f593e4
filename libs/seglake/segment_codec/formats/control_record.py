"""Control records: transaction markers, and control records of the Raft log.

Layout of the key, integers big-endian::

     0  version  i16  never negative; later versions are read as 0
     2  type     i16  0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer,
                      5 KRaft version, 6 KRaft voters

Source: apache/kafka 1eb7644, ControlRecordType.java, EndTransactionMarker.java.
"""

import struct
from enum import StrEnum

from seglake.segment_codec.formats.errors import malformed
from seglake.segment_codec.formats.record import Record

KEY = struct.Struct(">hh")


class ControlType(StrEnum):
    """Type of a control batch, from the key of its first record."""

    ABORT = "abort"
    COMMIT = "commit"
    LEADER_CHANGE = "leader_change"
    SNAPSHOT_HEADER = "snapshot_header"
    SNAPSHOT_FOOTER = "snapshot_footer"
    KRAFT_VERSION = "kraft_version"
    KRAFT_VOTERS = "kraft_voters"
    UNKNOWN = "unknown"


_BY_NUMBER = tuple(ControlType)[:-1]
_MARKERS = (0, 1)  # types of abort and commit


def control_type(records: list[Record], *, is_transactional: bool) -> ControlType:
    """Return the type of a control batch, from its first record as in Kafka's consumer.

    Args:
        records: all records of the batch; the type is UNKNOWN if the cleaner emptied the batch.
        is_transactional: whether the batch is transactional, and so a transaction marker.

    Raises:
        DefectError: the key is shorter than four bytes, its version is negative, or a marker is
            neither a commit nor an abort.
    """
    if not records:
        return ControlType.UNKNOWN
    key = records[0].key
    if key is None or len(key) < KEY.size:
        found = "none" if key is None else f"{len(key)} bytes"
        raise malformed(f"a control record's key has at least 4 bytes, found {found}")
    version, number = KEY.unpack_from(key)
    if version < 0:
        raise malformed(f"a control record's key has version {version}")
    if is_transactional and number not in _MARKERS:
        raise malformed(f"a transaction marker has type {number}")
    return _BY_NUMBER[number] if 0 <= number < len(_BY_NUMBER) else ControlType.UNKNOWN
