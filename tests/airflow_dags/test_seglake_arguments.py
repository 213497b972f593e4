"""The jobs' own parsers read what the DAGs write."""

from argparse import Namespace
from datetime import UTC, datetime
from typing import Any

import pytest

from seglake.cli.arguments import parser_of, settings_of
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.settings.settings import Settings
from seglake_arguments import Window, job_arguments
from seglake_lakes import Lake

LAKE = Lake(lake="/lake", sources=("/disk",), jobs="/jobs")
RECORD_PARAMS: dict[str, Any] = {"metrics_folder": "", "openlineage": ""}
INGEST_PARAMS: dict[str, Any] = RECORD_PARAMS | {
    "sources": ["/disk"],
    "topics": [],
    "isolation": "",
    "upper_bound": "",
    "rescue": False,
}
DAY = Window(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC))


def arguments_of(
    command: str, lake: Lake = LAKE, *, window: Window | None = None, **changed: object
) -> list[str]:
    # As in the DAGs: that of the maintenance has no params for what is read.
    params = (RECORD_PARAMS if command == "maintain" else INGEST_PARAMS) | changed
    return job_arguments(command, lake, params, run_label="manual__1", window=window)


def parsed(lake: Lake = LAKE, *, window: Window | None = None, **changed: object) -> Namespace:
    arguments = arguments_of("ingest", lake, window=window, **changed)
    return parser_of("ingest").parse_args(arguments)


def test_without_params_the_settings_are_the_defaults() -> None:
    found = parsed()
    assert (found.source, found.lake, found.run_id) == (["/disk"], "/lake", "manual__1")
    assert found.json
    assert settings_of(found) == Settings()


@pytest.mark.parametrize("source", ["/a disk", "-odd", "--lake=x", "s3a://bucket/disk,1", "/ä"])
def test_any_text_stays_one_source(source: str) -> None:
    assert parsed(sources=["/first", source]).source == ["/first", source]


def test_params_become_settings() -> None:
    found = settings_of(
        parsed(topics=["a*", "!ab", "-x"], isolation="read_uncommitted", upper_bound="log_end")
    )
    assert found.select.topics == ("a*", "!ab", "-x")
    assert found.read.isolation is Isolation.READ_UNCOMMITTED
    assert found.read.upper_bound is UpperBound.LOG_END


def test_a_rescue_sets_what_the_option_sets() -> None:
    assert settings_of(parsed(rescue=True)) == settings_of(
        parser_of("ingest").parse_args(["--source=/disk", "--lake=/lake", "--rescue"])
    )
    bounded = settings_of(parsed(rescue=True, upper_bound="high_watermark"))
    assert bounded.read.upper_bound is UpperBound.HIGH_WATERMARK


def test_a_data_interval_becomes_a_window_whose_neighbours_touch() -> None:
    found = settings_of(parsed(window=DAY)).select
    following = settings_of(parsed(window=Window(DAY.stop, datetime(2026, 11, 3, tzinfo=UTC))))
    assert found.from_timestamp == DAY.start
    assert found.to_timestamp == DAY.stop == following.select.from_timestamp


def test_further_arguments_of_a_lake_are_handed_on() -> None:
    lake = Lake(
        lake="/lake",
        sources=("/disk",),
        jobs="/jobs",
        arguments=("--internal-topics", "--set=limits.fail_on_quarantine=true"),
        audit_arguments=("--source=/disk",),
        maintain_arguments=("--engine=local",),
    )
    settings = settings_of(parsed(lake))
    assert settings.select.internal_topics
    assert settings.limits.fail_on_quarantine
    assert parser_of("audit").parse_args(arguments_of("audit", lake)).source == ["/disk"]
    assert parser_of("audit").parse_args(arguments_of("audit", LAKE)).lake == "/lake"
    maintain = arguments_of("maintain", lake)
    assert parser_of("maintain").parse_args(maintain).engine == "local"


def test_the_topics_of_a_lake_s_typed_tables_are_handed_on() -> None:
    lake = Lake(
        lake="/lake",
        sources=("/disk",),
        jobs="/jobs",
        deserialize=("orders*", "!orders-test"),
        deserialize_arguments=("--schemas=/schemas.json", "--set=limits.fail_on_rejects=false"),
    )
    arguments = arguments_of("deserialize", lake, metrics_folder="/metrics")
    found = parser_of("deserialize").parse_args(arguments)
    assert (found.lake, found.run_id, found.json) == ("/lake", "manual__1", True)
    assert (found.schemas, found.metrics) == (
        "/schemas.json",
        "/metrics/seglake_deserialize.prom",
    )
    assert settings_of(found).select.topics == ("orders*", "!orders-test")
    assert not settings_of(found).limits.fail_on_rejects
    assert lake.job("deserialize") == "/jobs/deserialize_values.py"


def test_the_topics_of_a_lake_s_latest_state_are_handed_on() -> None:
    lake = Lake(
        lake="/lake",
        sources=("/disk",),
        jobs="/jobs",
        latest=("customers*", "!customers-test"),
        latest_arguments=("--internal-topics",),
    )
    found = parser_of("latest").parse_args(arguments_of("latest", lake))
    assert (found.lake, found.run_id, found.json) == ("/lake", "manual__1", True)
    select = settings_of(found).select
    assert (select.topics, select.internal_topics) == (("customers*", "!customers-test"), True)
    assert lake.job("latest") == "/jobs/update_latest.py"


def test_records_are_off_by_default_and_each_task_has_a_metrics_file_of_its_own() -> None:
    assert (parsed().metrics, parsed().openlineage) == (None, None)
    wanted: dict[str, Any] = {"metrics_folder": "/metrics/", "openlineage": "http://lineage:5000"}
    assert parsed(**wanted).metrics == "/metrics/seglake_ingest.prom"
    assert parsed(window=DAY, **wanted).metrics == "/metrics/seglake_backfill.prom"
    audit = parser_of("audit").parse_args(arguments_of("audit", **wanted))
    assert audit.metrics == "/metrics/seglake_audit.prom"
    maintain = arguments_of("maintain", **wanted)
    assert parser_of("maintain").parse_args(maintain).metrics == "/metrics/seglake_maintain.prom"
    assert audit.openlineage == parsed(**wanted).openlineage == "http://lineage:5000"
