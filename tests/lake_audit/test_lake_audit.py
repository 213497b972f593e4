"""The answer for a machine, and the exit code."""

import json

from seglake.findings.kinds import FindingKind
from seglake.findings.recovery import Recovery
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.problems import problem
from support.partition_audits import partition_audit

_NOTHING = Recovery(())

_PARTITION = partition_audit(0).partition


def _audit(problems: tuple[str, ...], notes: tuple[str, ...]) -> LakeAudit:
    return LakeAudit("/lake", (partition_audit(0),), problems, notes, _NOTHING)


def test_a_problem_of_the_lake_as_a_whole_is_a_reason_to_look_and_a_note_is_none() -> None:
    audits = _audit(("a file is gone",), ()), _audit((), ("a note",))
    assert [audit.findings.exit_code for audit in audits] == [3, 0]
    assert [audit.problem_count for audit in audits] == [1, 0]


def test_a_machine_is_told_everything() -> None:
    wrong = tuple(problem(FindingKind.MISSING, _PARTITION, 1, ["[3, 4)"]))
    audit = LakeAudit(
        "/lake", tuple(partition_audit(n, problems=wrong) for n in range(100)), (), ("n",), _NOTHING
    )
    facts = json.loads(json.dumps(audit.to_mapping() | audit.findings.to_mapping()))
    assert (facts["records"], len(facts["partitions"])) == (1000, 100)
    assert facts["findings_by_kind"] == {"missing": 1, "note": 1}
    first, name = facts["findings"][0], str(audit.partitions[0].partition)
    assert first["text"] == f"{name}: missing without a known cause: [3, 4)"
    assert (first["place"], first["kind"], first["count"]) == (name, "missing", 1)


def test_a_lake_in_which_nothing_is_covered_is_empty() -> None:
    assert LakeAudit("/lake", (), (), (), _NOTHING).is_empty
    assert LakeAudit("/lake", (partition_audit(0, covered=()),), (), (), _NOTHING).is_empty
    assert not LakeAudit("/lake", (partition_audit(0),), (), (), _NOTHING).is_empty
