"""The catalogue of deliberate breaks fits the code; `make mutants` runs it."""

from collections import Counter

import pytest

from mutants.catalogue import ROOT, Mutant, MutantError, catalogue

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
