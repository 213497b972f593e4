"""Problems have a count, a few examples, and words."""

from itertools import count

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.problems import problem
from seglake.proof.queries import Purpose, queries
from support.partition_audits import partition_audit

_PARTITION = partition_audit(0).partition


def test_examples_are_cut_at_five_and_not_all_worked_out() -> None:
    examples = (f"offset {number}" for number in count())  # without an end
    (found,) = problem(FindingKind.OFFSET_TWICE, _PARTITION, 8, examples)
    assert found.facts["examples"] == [f"offset {number}" for number in range(5)]
    name = str(_PARTITION)
    assert found.text.startswith(f"{name}: offsets more than once in records: offset 0; ")
    assert (found.place, found.text.endswith("offset 3; offset 4, and 3 more")) == (name, True)


def test_each_check_of_partitions_is_a_kind_of_finding_that_needs_a_look() -> None:
    checks = {query.name for query in queries() if query.purpose is Purpose.CHECK}
    of_the_lake = {name for name in checks if name.startswith("salvaged_")}
    assert checks - of_the_lake <= {kind for kind in FindingKind if kind.needs_a_look}


def test_nothing_met_is_no_problem() -> None:
    assert problem(FindingKind.MISSING, _PARTITION, 0, ()) == []
