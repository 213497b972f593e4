"""The file that says which lakes the DAGs serve."""

from dataclasses import fields
from pathlib import Path

import pytest

from seglake_lakes import FILE_VARIABLE, Lake, LakesFileError, lakes

README = Path(__file__).parents[2] / "airflow_dags" / "README.md"
SHIPPED = Path(__file__).parents[2] / "airflow_dags" / "lakes.toml"
ONE = '[[lake]]\nlake = "/lake"\nsources = ["/disk"]\njobs = "/jobs/"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my_lakes.toml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    return path


def test_a_lake_needs_three_keys_and_has_defaults_for_the_rest(file: Path) -> None:
    file.write_text(ONE, "utf-8")
    assert lakes() == (Lake(lake="/lake", sources=("/disk",), jobs="/jobs/"),)


def test_the_file_beside_the_dags_is_taken_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    beside = lakes()
    monkeypatch.setenv(FILE_VARIABLE, str(SHIPPED))
    assert beside == lakes()
    assert [lake.name for lake in beside] == [""]


def test_names_tell_lakes_apart_in_dags_pools_and_assets(file: Path) -> None:
    named = ONE + 'name = "eu"\npool = "shared"\n'
    file.write_text(ONE + named, "utf-8")
    plain, eu = lakes()
    assert (plain.dag_id("ingest"), eu.dag_id("ingest")) == ("seglake_ingest", "seglake_ingest_eu")
    assert (plain.identity, eu.identity) == ("seglake", "seglake_eu")
    assert (plain.pool_name, eu.pool_name) == ("seglake", "shared")
    assert plain.job("ingest") == "/jobs/ingest_segments.py"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ONE + 'tables = "x"\n', "lake 1: no such key: tables"),
        ('[[lake]]\nlake = "/lake"\n', "lake 1: sources, jobs must be given"),
        (ONE + "audit = 1\n", "lake 1: audit must be true or false, got 1"),
        (ONE + "retries = true\n", "lake 1: retries must be a whole number, got True"),
        (ONE + 'retry_minutes = "5"\n', "lake 1: retry_minutes must be a number, got '5'"),
        (ONE + 'topics = "orders"\n', "lake 1: topics must be a list of texts, got 'orders'"),
        (ONE + "spark = { a = 1 }\n", "lake 1: spark must be a table of texts, got {'a': 1}"),
        (ONE + "owner = 1\n", "lake 1: owner must be a text, got 1"),
        (ONE + 'name = "a b"\n', "name 'a b' may only have letters, digits"),
        (ONE + ONE, "each lake needs a `name` of its own"),
        ("lake = 1\n", "only [[lake]] tables are known here"),
        (ONE + "[other]\n", "only [[lake]] tables are known here"),
        ("[[lake]\n", "SEGLAKE_LAKES names this file"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_key(text: str, problem: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(LakesFileError) as caught:
        lakes()
    assert problem in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(LakesFileError, match=r"my_lakes\.toml"):
        lakes()


def test_the_readme_explains_every_key() -> None:
    rows = [line.split("|")[1] for line in README.read_text("utf-8").splitlines() if "|" in line]
    explained = {name for row in rows for name in row.replace("`", "").replace(" ", "").split(",")}
    assert {field.name for field in fields(Lake)} <= explained
