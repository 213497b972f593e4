"""Problems have a count, a few examples, and words."""

from itertools import count

from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem


def test_examples_are_cut_at_five_and_not_all_worked_out() -> None:
    examples = (f"offset {number}" for number in count())  # without an end
    (found,) = problem(ProblemKind.OFFSET_TWICE, 8, examples)
    assert found.examples == tuple(f"offset {number}" for number in range(5))
    assert str(found).endswith("offset 3; offset 4, and 3 more")


def test_nothing_met_is_no_problem() -> None:
    assert problem(ProblemKind.MISSING, 0, ()) == []


def test_every_kind_has_words_for_a_person() -> None:
    said = {str(Problem(kind, 1, ("x",))).partition(":")[0] for kind in ProblemKind}
    assert len(said) == len(ProblemKind)
