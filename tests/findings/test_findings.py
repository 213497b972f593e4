"""Findings of a command: their order, their lines, their exit code."""

import json

import pytest

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind

_LEFT_OUT = Finding(FindingKind.LEFT_OUT, "orders-0: it is gone", "orders-0")


@pytest.mark.parametrize("kind", FindingKind)
def test_kind_alone_decides_the_exit_code(kind: FindingKind) -> None:
    note = Finding(FindingKind.NOTE, "a note")
    assert Findings([Finding(kind, "a", "orders-0"), note]).exit_code == 3 * kind.needs_a_look
    assert Findings().exit_code == 0


def test_most_urgent_comes_first_whatever_came_first() -> None:
    stuck = Finding(FindingKind.STUCK, "b")
    later = Finding(FindingKind.STUCK, "a")
    found = Findings([Finding(FindingKind.NOTE, "n"), _LEFT_OUT, stuck, later])
    assert found.lines() == ["stuck: b", "stuck: a", "left out: orders-0: it is gone", "note: n"]
    assert [each["kind"] for each in found.to_mapping()["findings"]] == [
        *("stuck", "stuck", "left_out", "note"),
    ]


def test_finding_that_comes_twice_is_kept_once() -> None:
    found = Findings([_LEFT_OUT, _LEFT_OUT])
    found.add_reasons(FindingKind.LEFT_OUT, {"orders-0": "orders-0: it is gone"})
    assert found.of(FindingKind.LEFT_OUT) == [_LEFT_OUT]
    assert found.reasons(FindingKind.LEFT_OUT) == {"orders-0": "orders-0: it is gone"}


def test_findings_whose_line_is_another_one_have_none() -> None:
    found = Findings([Finding(FindingKind.UNDECIDED, "orders-0: 3 offsets")])
    assert (found.lines(), found.exit_code) == ([], 3)


def test_each_kind_is_cut_to_twenty_lines_and_whole_for_a_machine() -> None:
    found = Findings(Finding(FindingKind.NOTE, str(n)) for n in range(21))
    found.add(Finding(FindingKind.REFUSED, str(n)) for n in range(20))
    lines = found.lines()
    assert (len(lines), lines[-1]) == (41, "note: … and 1 more (all of them with --json)")
    assert found.to_mapping()["findings_by_kind"] == {"refused": 20, "note": 21}


def test_facts_of_a_finding_are_flat() -> None:
    facts = {"records": 4}
    finding = Finding(FindingKind.SUPERSEDED, "said", "orders-0", ((3, 7),), facts)
    assert json.loads(json.dumps(finding.to_mapping())) == {
        "kind": "superseded",
        "needs_a_look": True,
        "place": "orders-0",
        "ranges": [[3, 7]],
        "text": "said",
        "records": 4,
    }
