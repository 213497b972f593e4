"""A report as JSON for the page."""

import json
from pathlib import Path

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_report.model import OffsetState
from seglake.pipelines.lake_report.page_data import to_json
from support.reports import reported
from support.wide_lake import write_wide_lake


def test_numbers_that_javascript_cannot_hold_are_texts(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1, first_offset=2**60)
    data = json.loads(to_json(reported(tmp_path)))
    strips = [ranges for _, _, ranges in data["partitions"][0][6]]
    assert str(2**60) in [offset for ranges in strips for offset in ranges]


def test_names_stand_once_and_every_state_and_kind_has_its_place(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 120)
    data = json.loads(to_json(reported(tmp_path)))
    assert data["states"] == [str(state) for state in OffsetState]
    assert data["kindNames"] == [str(kind) for kind in FindingKind]
    assert len(data["kinds"]) == len(FindingKind)
    assert len(data["topics"]) == len(set(data["topics"])) == 3
    assert len(data["partitions"]) == 120
