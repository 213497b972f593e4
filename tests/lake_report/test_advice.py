"""The page advises what docs/messages.md does."""

import re
from pathlib import Path

import pytest

from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.advice import ADVICE, command_for
from seglake.pipelines.lake_report.model import Need

_PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
_ROW = re.compile(r"^\| (`.+`) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def _advised(quoted: str) -> set[str]:
    """What the page says to do beside a message, without its links."""
    rows = _ROW.findall(_PAGE.read_text("utf-8"))
    found = (to_do for cell, _, to_do in rows if quoted in re.findall(r"`([^`]+)`", cell))
    return {_LINK.sub(r"\1", to_do.strip()) for to_do in found}


@pytest.mark.parametrize("need", Need)
def test_advice_is_that_of_the_messages_page(need: Need) -> None:
    assert ADVICE[need].to_do in _advised(ADVICE[need].quoted)


def test_commands_name_the_topics_quoted_for_a_shell() -> None:
    keys = [PartitionKey("orders", 3, None), PartitionKey("a b; rm -rf $HOME", 0, None)]
    assert command_for(Need.MISSING, "/data/my lake", keys) == (
        "seglake replay --lake '/data/my lake' --source ANOTHER_REPLICA"
        " --topics 'a b; rm -rf $HOME' orders"
    )
    internal = [PartitionKey("__consumer_offsets", 1, None)]
    assert command_for(Need.SUPERSEDED, "l", internal) == (
        "seglake retake --source LOG_DIR --lake l --topics __consumer_offsets --internal-topics"
    )
    blocked = [PartitionKey("orders", 0, None)]
    assert command_for(Need.NO_HIGH_WATERMARK, "l", blocked) == (
        "seglake ingest --source LOG_DIR --lake l --topics orders --upper-bound log_end"
    )
    assert command_for(Need.TAIL, "l", keys) is None


def test_commands_for_many_topics_name_none() -> None:
    keys = [PartitionKey(f"topic{number}", 0, None) for number in range(6)]
    assert command_for(Need.MISSING, "l", keys) == (
        "seglake replay --lake l --source ANOTHER_REPLICA"
    )
