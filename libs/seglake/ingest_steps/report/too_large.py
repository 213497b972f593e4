"""Finding on batches that were not decoded because of their size."""

from collections.abc import Container, Iterable, Iterator, Mapping

from seglake.findings.advised_commands import replay_with_highest_limit
from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import Replica
from seglake.printable import show_bytes, show_count
from seglake.segment_codec.formats.errors import DefectCode
from seglake.settings.settings import MOST_DECOMPRESSED_BATCH_BYTES


def too_large(
    defects: Mapping[str, int], limit_bytes: int, lake: str, log_dirs: Iterable[str]
) -> Iterator[Finding]:
    """If there are such batches, yield a finding with the limit and the command to decode them.

    Args:
        defects: number of quarantined spans by defect code.
        limit_bytes: the limit of the run.
        lake: path of the lake, for the command.
        log_dirs: log dirs with the batches, for the command.
    """
    count = defects.get(DefectCode.DECOMPRESSION_LIMIT, 0)
    if not count:
        return
    summary = (
        f"{show_count(count, 'batch', 'batches')} above limits.max_decompressed_batch_bytes "
        f"({show_bytes(limit_bytes)})"
    )
    if limit_bytes >= MOST_DECOMPRESSED_BATCH_BYTES:
        yield Finding(FindingKind.TOO_LARGE, f"{summary}, which is the highest possible limit")
        return
    command = replay_with_highest_limit(lake, log_dirs)
    how = f"to decode batches up to {show_bytes(MOST_DECOMPRESSED_BATCH_BYTES)}, run"
    facts = {"command": command}
    yield Finding(FindingKind.TOO_LARGE, f"{summary}; {how}: {command}", facts=facts)


def log_dirs_of(replicas: Iterable[Replica], names: Container[str]) -> list[str]:
    """Return the log dirs that have replicas of the named partitions, each once."""
    found = (replica for replica in replicas if str(replica.key) in names)
    return sorted({replica.folder.rpartition("/")[0] for replica in found})
