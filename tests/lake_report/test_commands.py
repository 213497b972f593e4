"""Commands of the page, to be copied."""

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.commands import command_for


def test_commands_name_the_topics_quoted_for_a_shell() -> None:
    keys = [PartitionKey("orders", 3, None), PartitionKey("a b; rm -rf $HOME", 0, None)]
    assert command_for(FindingKind.MISSING, "/data/my lake", keys) == (
        "seglake replay --lake '/data/my lake' --source ANOTHER_REPLICA"
        " --topics 'a b; rm -rf $HOME' orders"
    )
    internal = [PartitionKey("__consumer_offsets", 1, None)]
    assert command_for(FindingKind.SUPERSEDED, "l", internal) == (
        "seglake retake --source LOG_DIR --lake l --topics __consumer_offsets --internal-topics"
    )
    blocked = [PartitionKey("orders", 0, None)]
    assert command_for(FindingKind.NO_HIGH_WATERMARK, "l", blocked) == (
        "seglake ingest --source LOG_DIR --lake l --topics orders --upper-bound log_end"
    )
    assert command_for(FindingKind.TAIL, "l", keys) is None


def test_commands_for_many_topics_name_none() -> None:
    keys = [PartitionKey(f"topic{number}", 0, None) for number in range(6)]
    assert command_for(FindingKind.MISSING, "l", keys) == (
        "seglake replay --lake l --source ANOTHER_REPLICA"
    )
