"""The answer for a machine, and the exit code."""

import json

from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind
from seglake.pipelines.recovery import Recovery
from support.partition_audits import partition_audit

_NOTHING = Recovery(())


def test_a_problem_of_the_lake_as_a_whole_is_a_reason_to_look_and_a_note_is_none() -> None:
    assert (
        LakeAudit("/lake", (partition_audit(0),), ("a file is gone",), (), _NOTHING).exit_code == 3
    )
    assert LakeAudit("/lake", (partition_audit(0),), (), ("a note",), _NOTHING).exit_code == 0


def test_a_machine_is_told_everything() -> None:
    wrong = (Problem(ProblemKind.MISSING, 1, ("[3, 4)",)),)
    audit = LakeAudit(
        "/lake", tuple(partition_audit(n, problems=wrong) for n in range(100)), (), ("n",), _NOTHING
    )
    facts = json.loads(json.dumps(audit.to_mapping()))
    assert (facts["exit_code"], facts["records"], facts["notes"]) == (3, 1000, ["n"])
    assert len(facts["partitions"]) == 100
    assert facts["partitions"][0]["problems"] == [
        {"kind": "missing", "count": 1, "examples": ["[3, 4)"]}
    ]


def test_a_lake_in_which_nothing_is_covered_is_empty() -> None:
    assert LakeAudit("/lake", (), (), (), _NOTHING).is_empty
    assert LakeAudit("/lake", (partition_audit(0, covered=()),), (), (), _NOTHING).is_empty
    assert not LakeAudit("/lake", (partition_audit(0),), (), (), _NOTHING).is_empty
