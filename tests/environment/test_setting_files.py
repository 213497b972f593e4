"""Settings files and single settings become layers, or are refused by name."""

from datetime import timedelta
from pathlib import Path

import pytest

from seglake.cli.arguments import parser_of, settings_of
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings

INGEST = ["--source", "/disk", "--lake", "/lake"]


def settings(*options: str) -> Settings:
    return settings_of(parser_of("ingest").parse_args([*INGEST, *options]))


@pytest.mark.parametrize("assignment", ["read", "read.x", "=5", "read=5", ".x=5", "read.=5"])
def test_assignment_of_another_form_is_refused(assignment: str) -> None:
    with pytest.raises(WrongCallError, match=r"--set expects section\.key=value"):
        settings("--set", assignment)


def test_key_without_its_section_leads_to_the_one_that_is_meant() -> None:
    with pytest.raises(WrongCallError, match=r"'split_bytes=5'; did you mean read\.split_bytes\?"):
        settings("--set", "split_bytes=5")


def test_age_of_one_topic_is_set_by_its_name_and_merged_with_that_of_all() -> None:
    ages = ("retention.records=400d", "retention.records.a.b=1d", "retention.records.c*=off")
    read = settings(*(part for age in ages for part in ("--set", age)))
    assert read.retention.records == (
        ("*", timedelta(days=400)),
        ("a.b", timedelta(days=1)),
        ("c*", None),
    )


def test_settings_file_that_is_missing_or_no_toml_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    for content, problem in ((b"[read", "is not TOML"), (b"\xff[read", "is not UTF-8")):
        broken.write_bytes(content)
        with pytest.raises(WrongCallError, match=rf"broken\.toml {problem}"):
            settings("--config", str(broken))
    with pytest.raises(WrongCallError, match=r"none\.toml: No such file"):
        settings("--config", str(tmp_path / "none.toml"))


def test_file_of_spark_properties_is_a_settings_file_too(tmp_path: Path) -> None:
    first, second = tmp_path / "cluster.conf", tmp_path / "own.properties"
    first.write_text("# a\n! b\n\n spark.one  1 # kept\nspark.two=a=b\nspark.three : /x:y\n")
    second.write_text("spark.one 2\n")
    read = settings("--config", str(first), "--config", str(second), "--set", "spark.master=yarn")
    assert dict(read.spark.properties) == {
        "spark.one": "2",
        "spark.two": "a=b",
        "spark.three": "/x:y",
    }
    assert read.spark.master == "yarn"


@pytest.mark.parametrize("line", ["read.isolation x", "spark.password s3cret\\", "spark.password"])
def test_line_that_is_no_property_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "own.conf"
    path.write_text(f"spark.one 1\n{line}\n")
    with pytest.raises(WrongCallError, match=r"line 2 of .*own\.conf") as caught:
        settings("--config", str(path))
    assert "s3cret" not in str(caught.value)
