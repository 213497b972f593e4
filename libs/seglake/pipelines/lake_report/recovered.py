"""Recovery of each partition, from its offsets by state and its observation."""

from collections.abc import Mapping

from seglake.findings.losing_tails import TailsOfPartition
from seglake.findings.loss_causes import LOSS_OF_GAP, Loss, NoLoss, losses_of_log, no_loss_of_gaps
from seglake.findings.recovery import PartitionRecovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.pipelines.lake_report.model import OffsetState


def partition_recovery(
    ledger: PartitionLedger,
    records: int,
    strip: Mapping[OffsetState, GapRanges],
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
    by_state = {OffsetState(cause): loss for cause, loss in LOSS_OF_GAP.items()}
    by_state[OffsetState.SUPERSEDED] = Loss.SUPERSEDED
    lost = {loss: strip[state] for state, loss in by_state.items() if state in strip}
    if seen is not None:
        lost |= losses_of_log(seen, ledger.covered)
    gaps = {c: strip[OffsetState(c)].offsets for c in GapCause if OffsetState(c) in strip}
    no_loss = no_loss_of_gaps(gaps, expired_loss)
    ingested = strip.get(OffsetState.INGESTED)
    if ingested is not None and ingested.offsets > records:
        no_loss[NoLoss.WITHOUT_RECORD] = ingested.offsets - records
    name = str(ledger.key)
    return PartitionRecovery(name=name, records=records, lost=lost, no_loss=no_loss, tails=tails)
