"""The catalogue of deliberate breaks fits the code; `make mutants` runs it."""

from collections import Counter

import pytest

from mutants.catalogue import ROOT, Mutant, MutantError, catalogue
from mutants.generated import edits, generated, room_of

_ROOMS = (
    "airflow_dags",
    *(f"libs/seglake/{name}" for name in ("cli", "environment", "spark_source", "lake", "storage")),
    *(f"libs/seglake/{name}" for name in ("task_engine", "kafka_log", "log_dirs", "log_tables")),
    *(f"libs/seglake/pipelines/{name}" for name in ("segment_ingest", "segment_inspect")),
    *(f"libs/seglake/pipelines/{name}" for name in ("lake_audit", "lake_query")),
    *(f"libs/seglake/{name}" for name in ("findings", "ingest_steps", "settings")),
    "libs/seglake/pipelines/record_print",
    *(f"libs/seglake/pipelines/{name}" for name in ("lake_replay", "lake_retake")),
    "libs/seglake/pipelines/segment_query",
    *("libs/seglake/segment_codec", "libs/seglake/segment_decoding"),
)


def test_there_are_enough_in_every_room() -> None:
    mutants = catalogue()
    assert len(mutants) >= 380
    assert [room for room in _ROOMS if not any(m.file.startswith(room) for m in mutants)] == []
    assert [name for name, n in Counter(mutant.name for mutant in mutants).items() if n > 1] == []


def test_each_fits_the_code_and_names_a_test() -> None:
    for mutant in catalogue():
        text = (ROOT / mutant.file).read_text("utf-8")
        assert mutant.broken(text) != text, mutant.name
        file, _, function = mutant.caught_by.partition("::")
        assert f"\ndef {function}(" in (ROOT / file).read_text("utf-8"), mutant.name


def test_a_passage_that_is_gone_or_not_alone_is_refused() -> None:
    mutant = Mutant(name="x", file="y", find="a = 1", replace="a = 2", caught_by="z")
    assert mutant.broken("b\na = 1\n") == "b\na = 2\n"
    for text in ("a = 3", "a = 1\na = 1"):
        with pytest.raises(MutantError, match=r"x: its passage stands [02] times in y"):
            mutant.broken(text)


def test_plain_breaks_are_made_from_the_syntax() -> None:
    text = "a = b < c <= d  # é <\nif not (a and b) or True:\n    a = min(b, len('é') + 1)\n"
    assert {text[:first] + new + text[last:] for first, last, new in edits(text)} == {
        text.replace("b < c", "b <= c"),
        text.replace("c <= d", "c < d"),
        text.replace("not ", ""),
        text.replace("and", "or"),
        text.replace(") or", ") and"),
        text.replace("True", "False"),
        text.replace("min", "max"),
        text.replace("+ 1", ""),
    }


def test_what_says_nothing_of_the_outcome_is_not_broken() -> None:
    assert [*edits("@dataclass(frozen=True)\nclass A:\n    assert b < c\n")] == []


def test_each_plain_break_fits_its_module_and_has_tests() -> None:
    made = [*generated("libs/seglake/kafka_log"), *generated("libs/seglake/segment_codec/walk")]
    assert len(made) > 400
    for mutant in made:
        text = (ROOT / mutant.file).read_text("utf-8")
        assert compile(mutant.broken(text), mutant.file, "exec")
        assert mutant.broken(text) != text
        assert mutant.caught_by.startswith(room_of(mutant))
        assert (ROOT / mutant.caught_by).exists()
