"""Commands that messages advise are calls that seglake understands."""

import argparse
import shlex

import pytest

from seglake.cli.arguments import parser_of
from seglake.findings.advised_commands import (
    HIGHEST_LIMIT,
    ingest_internal,
    replay_losing_tails,
    replay_with_highest_limit,
)

_LAKE = "/a lake's place"


def _parsed(command: str) -> argparse.Namespace:
    program, name, *words = shlex.split(command)
    assert program == "seglake"
    return parser_of(name).parse_args(words)


def test_large_batches_are_decoded_from_the_lake_or_from_log_dirs() -> None:
    found = _parsed(replay_with_highest_limit(_LAKE, ["/one disk", "/two"]))
    assert (found.lake, found.source, found.engine) == (_LAKE, ["/one disk", "/two"], "local")
    assert found.set == [f"limits.max_decompressed_batch_bytes={HIGHEST_LIMIT}"]
    assert _parsed(replay_with_highest_limit(_LAKE)).source == []


def test_losing_tails_are_decoded_from_the_lake() -> None:
    found = _parsed(replay_losing_tails(_LAKE))
    assert (found.lake, found.engine, found.set) == (_LAKE, "local", ["read.losing_tails=rows"])


@pytest.mark.parametrize(
    ("bound", "option"), [("log_end", "log_end"), ("high_watermark", None), (None, None)]
)
def test_internal_topics_are_ingested_up_to_the_end_that_the_lake_has(
    bound: str | None, option: str | None
) -> None:
    found = _parsed(ingest_internal(_LAKE, {"__b", "__a"}, bound))
    assert (found.lake, found.topics, found.engine) == (_LAKE, ["__a", "__b"], "local")
    assert (found.internal_topics, found.upper_bound) == (True, option)
