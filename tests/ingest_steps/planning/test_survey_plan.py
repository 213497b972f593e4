"""Which partitions are worth a look at their headers."""

from seglake.ingest_steps.planning.partitions import listed_partitions
from seglake.ingest_steps.planning.survey_plan import is_due
from seglake.kafka_log.replica import Replica
from seglake.log_tables.source_ledger import SourceLedger
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.planned import KEY, ledger_row, replica_with_epochs


def _ledger(next_offset: int, last_offset: int, epoch: int | None) -> SourceLedger:
    row = ledger_row(KEY, next_offset, last_base_offset=last_offset, leader_epoch=epoch)
    return SourceLedger([row])


def _is_due(ledger: SourceLedger, *copies: Replica) -> bool:
    (listed,) = listed_partitions(copies, ledger, LocalStorage())
    return is_due(listed, Settings())


def test_copies_are_looked_at_when_one_that_may_lead_has_news() -> None:
    leader = replica_with_epochs(1, 200, (0, 0), (4, 170), high_watermark=190)
    lost = replica_with_epochs(2, 230, (0, 0), (1, 170), high_watermark=230)
    lagging = replica_with_epochs(3, 150, (0, 0), high_watermark=150)
    assert _is_due(_ledger(180, 175, 4), leader, lagging)
    assert not _is_due(_ledger(190, 185, 4), leader, lagging)
    assert not _is_due(_ledger(190, 185, 4), lagging)
    assert _is_due(_ledger(190, 185, 4), leader, lost)  # its tail may not be recorded yet


def test_copies_are_looked_at_when_an_election_went_against_what_was_taken() -> None:
    leader = replica_with_epochs(1, 180, (0, 0), (4, 170), high_watermark=180)
    assert _is_due(_ledger(230, 225, 1), leader)
    assert not _is_due(_ledger(230, 165, 0), leader)
    assert not _is_due(_ledger(230, 225, None), leader)
