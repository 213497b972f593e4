"""Ignores offsets in checkpoint files that are far above all other offsets on the disk.

Without this check, a few bytes of garbage would look like billions of missing offsets.
"""

from collections.abc import Iterable
from typing import NamedTuple

from seglake.kafka_log.replica import Checkpoints
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.log_dir import SideFile

MOST_STEP = 1 << 27  # an offset that exceeds all others by more is implausible


class PlausibleCheckpoints(NamedTuple):
    """Checkpoints of one log without implausible offsets.

    Attributes:
        ignored: why offsets are ignored, by the file that has them.
    """

    checkpoints: Checkpoints
    epochs: tuple[EpochStart, ...]
    ignored: dict[SideFile, str]


def plausible_checkpoints(
    checkpoints: Checkpoints, epochs: tuple[EpochStart, ...], reached: Iterable[int]
) -> PlausibleCheckpoints:
    """Return the checkpoints without offsets that are more than MOST_STEP above all others.

    If there is no other offset to compare, an offset is plausible.

    Args:
        checkpoints: the partition's checkpoints.
        epochs: entries of its leader-epoch-checkpoint.
        reached: offsets that the log plausibly reaches, from the names and sizes of other files.
    """
    claims = {
        SideFile.HIGH_WATERMARKS: checkpoints.high_watermark or 0,
        SideFile.RECOVERY_POINTS: checkpoints.recovery_point or 0,
        SideFile.LEADER_EPOCHS: epochs[-1].start_offset if epochs else 0,
    }
    highest = max(reached, default=0)
    ignored: dict[SideFile, str] = {}
    for file, offset in sorted(claims.items(), key=lambda claim: -claim[1]):
        supported = max([highest, *(other for of, other in claims.items() if of is not file)])
        if not is_far(offset, supported):
            break
        ignored[file] = _why(offset, supported)
        claims[file] = 0
    end = max([highest, *claims.values()])
    cleaned = checkpoints.cleaner_offset
    if cleaned is not None and is_far(cleaned, end):
        ignored[SideFile.CLEANER_OFFSETS] = _why(cleaned, end)
        cleaned = None
    if SideFile.LEADER_EPOCHS in ignored:
        epochs = tuple(each for each in epochs if not is_far(each.start_offset, end))
    mark, flushed = checkpoints.high_watermark, checkpoints.recovery_point
    believed = checkpoints._replace(
        high_watermark=None if SideFile.HIGH_WATERMARKS in ignored else mark,
        recovery_point=None if SideFile.RECOVERY_POINTS in ignored else flushed,
        cleaner_offset=cleaned,
    )
    return PlausibleCheckpoints(believed, epochs, ignored)


def is_far(offset: int, supported: int) -> bool:
    """Return whether an offset is implausibly far above the highest other offset.

    `supported` is the highest other offset; 0 if there is none.
    """
    return bool(supported) and offset - supported > MOST_STEP


def _why(offset: int, supported: int) -> str:
    """Return why an offset in a checkpoint is implausible, as text."""
    return f"it is {offset}, and no other offset is above {supported}"
