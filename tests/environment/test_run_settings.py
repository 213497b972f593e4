"""What files, single settings and options add up to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.cli.arguments import parser_of, settings_of
from seglake.errors import WrongCallError
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.settings.settings import Settings
from seglake.settings.values import SettingsError

INGEST = ["--source", "/disk", "--lake", "/lake"]


def settings(*options: str) -> Settings:
    return settings_of(parser_of("ingest").parse_args([*INGEST, *options]))


def test_nothing_given_is_the_defaults() -> None:
    assert settings() == Settings()


@pytest.mark.parametrize(
    ("options", "read", "expected"),
    [
        (["--topics", "a*", "--topics", "!ab"], lambda s: s.select.topics, ("a*", "!ab")),
        (["--internal-topics"], lambda s: s.select.internal_topics, True),
        (["--from-timestamp", "1970-01-01T00:00:01Z"], lambda s: s.select.from_timestamp_ms, 1000),
        (["--to-timestamp", "1970-01-01T00:00:02"], lambda s: s.select.to_timestamp_ms, 2000),
        (
            ["--isolation", "read_uncommitted"],
            lambda s: s.read.isolation,
            Isolation.READ_UNCOMMITTED,
        ),
        (["--upper-bound", "log_end"], lambda s: s.read.upper_bound, UpperBound.LOG_END),
        (["--source-id", "c1"], lambda s: s.source.source_id, "c1"),
        (["--master", "local[3]"], lambda s: s.spark.master, "local[3]"),
        (["--set", "read.split_bytes=5_000_000"], lambda s: s.read.split_bytes, 5_000_000),
        (["--set", "spark.master=yarn"], lambda s: s.spark.master, "yarn"),
        (["--set", 'select.topics=["a", "b"]'], lambda s: s.select.topics, ("a", "b")),
        (
            ["--set", "limits.fail_on_quarantine=false"],
            lambda s: s.limits.fail_on_quarantine,
            False,
        ),
        (
            ["--set", "spark.properties.spark.sql.shuffle.partitions=2"],
            lambda s: s.spark.properties,
            (("spark.sql.shuffle.partitions", "2"),),
        ),
    ],
)
def test_option_changes_its_setting(
    options: list[str], read: Callable[[Settings], object], expected: object
) -> None:
    assert read(settings(*options)) == expected
    assert read(Settings()) != expected


def test_files_then_set_then_options(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text(
        "[read]\nsplit_bytes = 6000000\ndecoded_bytes = 6\nwindow_bytes = 600000\n"
        'isolation = "read_uncommitted"\nupper_bound = "log_end"\n',
        "utf-8",
    )
    second.write_text('[read]\nsplit_bytes = 7000000\nupper_bound = "log_end"\n', "utf-8")
    read = settings(
        *("--config", str(first), "--config", str(second)),
        *("--set", "read.decoded_bytes=8", "--set", "read.upper_bound=log_end"),
        *("--upper-bound", "high_watermark"),
    ).read
    assert read.window_bytes == 600_000
    assert read.split_bytes == 7_000_000
    assert read.decoded_bytes == 8
    assert read.isolation == Isolation.READ_UNCOMMITTED
    assert read.upper_bound == UpperBound.HIGH_WATERMARK


def test_refused_value_names_its_option() -> None:
    with pytest.raises(SettingsError, match=r"from --source-id"):
        settings("--source-id", "a/b")
    with pytest.raises(SettingsError, match=r"from --set read.split_bytes"):
        settings("--set", "read.split_bytes=many")
    with pytest.raises(SettingsError, match=r"from --from-timestamp and --to-timestamp"):
        settings("--from-timestamp", "2026-01-02", "--to-timestamp", "2026-01-01")


def test_master_without_spark_is_a_contradiction() -> None:
    with pytest.raises(WrongCallError, match="--engine local runs no Spark"):
        settings("--engine", "local", "--master", "local[2]")


def test_rescue_sets_what_disks_need_that_nobody_writes() -> None:
    found = settings("--rescue")
    assert found.read.upper_bound is UpperBound.LOG_END
    assert found.select.internal_topics


def test_rescue_wins_over_a_file_and_loses_against_what_is_set_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[read]\nupper_bound = "high_watermark"\n[select]\ninternal_topics = false\n')
    rescued = settings("--rescue", "--config", str(file))
    assert rescued.read.upper_bound is UpperBound.LOG_END
    assert rescued.select.internal_topics
    by_option = settings("--rescue", "--upper-bound", "high_watermark")
    assert by_option.read.upper_bound is UpperBound.HIGH_WATERMARK
    assert by_option.select.internal_topics
    by_key = settings("--set", "select.internal_topics=false", "--rescue")
    assert by_key.read.upper_bound is UpperBound.LOG_END
    assert not by_key.select.internal_topics


def test_the_page_of_settings_has_what_rescue_sets() -> None:
    page = (Path(__file__).parents[2] / "conf" / "README.md").read_text("utf-8")
    section = page.partition("## What a rescue sets")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[:2] for line in section.splitlines() if line.startswith("| `")]
    documented = [f"{key.strip('| `')}={value.strip('`')}" for key, value in rows]
    by_hand = [option for row in documented for option in ("--set", row)]
    assert settings(*by_hand) == settings("--rescue") != settings()
