"""Recovery of each partition, from its offsets by state and its observation."""

from collections.abc import Mapping

from seglake.findings.losing_tails import TailsOfPartition
from seglake.findings.loss_causes import LOSS_OF_GAP, Loss, NoLoss, losses_of_log, no_loss_of_gaps
from seglake.findings.recovery import PartitionRecovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.pipelines.lake_report.model import Offsets, OffsetState


def partition_recovery(
    ledger: PartitionLedger,
    records: int,
    strip: Mapping[OffsetState, Offsets],
    seen: Observation | None,
    tails: TailsOfPartition,
    expired_loss: int,
) -> PartitionRecovery:
    """Count a partition's records and, by cause, its offsets without a record.

    Args:
        ledger: the partition's ledger.
        records: number of the partition's records in the tables.
        strip: the partition's offsets by state, with exact counts.
        seen: the newest observation of the log; None if there is none.
        tails: quarantined batches of replicas that lost an election.
        expired_loss: number of offsets that were lost before they expired.
    """
    lost = {
        loss: _gaps(strip[OffsetState(cause)])
        for cause, loss in LOSS_OF_GAP.items()
        if OffsetState(cause) in strip
    }
    if OffsetState.SUPERSEDED in strip:
        lost[Loss.SUPERSEDED] = _gaps(strip[OffsetState.SUPERSEDED])
    if seen is not None:
        lost |= losses_of_log(seen, ledger.covered)
    gaps = {c: strip[OffsetState(c)].count for c in GapCause if OffsetState(c) in strip}
    no_loss = no_loss_of_gaps(gaps, expired_loss)
    ingested = strip.get(OffsetState.INGESTED)
    if ingested is not None and ingested.count > records:
        no_loss[NoLoss.WITHOUT_RECORD] = ingested.count - records
    name = str(ledger.key)
    return PartitionRecovery(name=name, records=records, lost=lost, no_loss=no_loss, tails=tails)


def _gaps(offsets: Offsets) -> GapRanges:
    return GapRanges(len(offsets.ranges), offsets.count, offsets.ranges)
