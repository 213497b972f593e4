"""What the newest runs saw of logs and could not bring into the lake. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from seglake.kafka_log.observation import StoppedBy
from seglake.kafka_log.offset_ranges import OffsetRange, subtracted
from seglake.pipelines.lake_audit.ledger import LakePartition, Row

_WHY_UNREAD = (StoppedBy.REFUSED, StoppedBy.UNREAD)  # of others, `detail` says what is lost


def left_logs(
    seen: Mapping[LakePartition, Row], covered: Mapping[LakePartition, Iterable[OffsetRange]]
) -> Iterator[str]:
    """Say what is proved and not on the disk, and what lies there without a high watermark.

    Args:
        seen: the newest row of `observations` of each partition.
        covered: merged, what the ledger has of each.
    """
    for partition, row in sorted(seen.items(), key=lambda item: str(item[0])):
        if row["detail"] and row["stopped_by"] not in _WHY_UNREAD:
            yield f"not on disk: {row['detail']}"
        if row["stopped_by"] == StoppedBy.NO_HIGH_WATERMARK:
            log_range = row["log_start_offset"] or 0, row["log_end_offset"] or 0
            left = subtracted(log_range, covered.get(partition, ()))
            if left:
                ranges = ", ".join(f"[{start}, {stop})" for start, stop in left)
                yield f"{partition}: {ranges} lie on the disk without a high watermark"
