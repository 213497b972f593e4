"""Control records: transaction markers, and control records of the Raft log.

Layout of the key, integers big-endian::

     0  version  i16  never negative; later versions are read as 0
     2  type     i16  0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer,
                      5 KRaft version, 6 KRaft voters

Source: apache/kafka 1eb7644, ControlRecordType.java.
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


def control_type(records: list[Record]) -> ControlType:
    """Return the type of a control batch, from its first record as in Kafka's consumer.

    Args:
        records: all records of the batch; the type is UNKNOWN if the cleaner emptied the batch.

    Raises:
        DefectError: the key is shorter than four bytes or its version is negative.
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
    return _BY_NUMBER[number] if 0 <= number < len(_BY_NUMBER) else ControlType.UNKNOWN
