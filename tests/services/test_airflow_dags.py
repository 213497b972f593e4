"""The DAGs as a real Airflow sees them; nothing is run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seglake.cli.arguments import parser_of, settings_of
from seglake.kafka_log.read_policy import Isolation, UpperBound
from support.servers.airflow_server import DAGS, ROOT, Airflow, require_airflow

pytestmark = pytest.mark.airflow

_MOST_SECONDS = 2
_LAKES: tuple[dict[str, object], ...] = (
    {"lake": "/data/lake", "sources": ["/disk"], "retries": 5, "timeout_hours": 1},
    {
        "name": "eu",
        "lake": "s3a://lakes/eu",
        "sources": ["/eu/1", "/eu/2"],
        "schedule": "5 * * * *",
        "connection": "spark_eu",
        "pool": "eu_writers",
        "topics": ["orders*"],
        "audit": False,
        "deserialize": ["orders*"],
        "latest": ["orders*"],
        "maintain_schedule": "",
    },
)

# Any: facts of the DAGs, as airflow_facts.py prints them.
Facts = dict[str, Any]

_KEPT = ("deserialize", "latest")  # after each ingest of a lake that says of which topics
_FILES = ["seglake_backfill.py", "seglake_ingest.py", "seglake_maintain.py"]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    require_airflow()
    airflow = Airflow(tmp_path_factory.mktemp("airflow"), _LAKES)
    airflow.prepare()
    found: Facts = airflow.facts()
    return found


def test_the_dags_are_imported_at_once_and_without_seglake_and_pyspark(facts: Facts) -> None:
    assert facts["import_errors"] == {}
    assert facts["foreign"] == []
    assert facts["files"] == _FILES
    assert facts["cpu_seconds"] < _MOST_SECONDS


def _writers(facts: Facts) -> dict[str, dict[str, Any]]:
    """The DAGs that ingest."""
    return {dag_id: dag for dag_id, dag in facts["dags"].items() if "maintain" not in dag_id}


def test_each_lake_has_three_dags(facts: Facts) -> None:
    assert sorted(facts["dags"]) == [
        *("seglake_backfill", "seglake_backfill_eu"),
        *("seglake_ingest", "seglake_ingest_eu"),
        *("seglake_maintain", "seglake_maintain_eu"),
    ]
    for dag_id, dag in facts["dags"].items():
        is_backfill = "backfill" in dag_id
        assert not dag["catchup"]
        assert (dag["timetable"] == "CronDataIntervalTimetable") == is_backfill
        assert (dag["max_active_runs"] == 1) != is_backfill


def test_ingest_comes_first_and_what_follows_it_is_red_by_itself(facts: Facts) -> None:
    for dag_id, dag in _writers(facts).items():
        upstream = {name: task["upstream"] for name, task in dag["tasks"].items()}
        after = ["audit", "needs_a_look", *(_KEPT if dag_id.endswith("_eu") else ())]
        assert upstream == {"ingest": [], **{name: ["ingest"] for name in after}}
        assert {task["trigger_rule"] for task in dag["tasks"].values()} == {"all_success"}
        assert {task["callbacks"] for task in dag["tasks"].values()} == {1}


def test_a_lake_has_its_pool_asset_connection_and_limits(facts: Facts) -> None:
    for verb in ("ingest", "backfill"):
        plain = facts["dags"][f"seglake_{verb}"]["tasks"]["ingest"]
        eu = facts["dags"][f"seglake_{verb}_eu"]["tasks"]["ingest"]
        assert (plain["pool"], eu["pool"]) == ("seglake", "eu_writers")
        assert plain["outlets"] == [["seglake", "file:///data/lake"]]
        assert eu["outlets"] == [["seglake_eu", "s3a://lakes/eu"]]
        assert (plain["connection"], eu["connection"]) == ("spark_default", "spark_eu")
        assert (plain["retries"], eu["retries"]) == (5, 3)
        assert plain["timeout_seconds"] == 3600
        assert plain["application"] == str(ROOT / "jobs" / "ingest_segments.py")


def test_the_audit_writes_nothing_and_takes_no_place_in_the_pool(facts: Facts) -> None:
    for dag in _writers(facts).values():
        audit = dag["tasks"]["audit"]
        assert (audit["pool"], audit["outlets"]) == ("default_pool", [])
        assert audit["application"] == str(ROOT / "jobs" / "audit_lake.py")


def test_maintenance_comes_once_a_week_and_takes_a_place_in_the_pool(facts: Facts) -> None:
    plain, eu = (facts["dags"][f"seglake_maintain{name}"] for name in ("", "_eu"))
    assert (plain["schedule"], eu["schedule"]) == ("0 0 * * 0", None)
    assert [*plain["tasks"]] == ["maintain"]
    task = plain["tasks"]["maintain"]
    assert (task["pool"], task["outlets"], task["retries"]) == ("seglake", [], 5)
    assert task["application"] == str(ROOT / "jobs" / "maintain_lake.py")
    found = parser_of("maintain").parse_args(task["arguments"][0])
    assert (found.lake, found.run_id, found.json) == ("/data/lake", "manual__1", True)
    assert sorted(plain["params"]) == ["metrics_folder", "openlineage"]


def test_params_are_closed_and_begin_with_what_the_file_says(facts: Facts) -> None:
    dag = facts["dags"]["seglake_ingest_eu"]
    assert sorted(dag["params"]) == [
        *("audit", "isolation", "metrics_folder", "openlineage", "rescue", "sources", "topics"),
        "upper_bound",
    ]
    assert dag["params"]["isolation"]["enum"] == ["", *Isolation]
    assert dag["params"]["upper_bound"]["enum"] == ["", *UpperBound]
    assert dag["defaults"] == {
        "sources": ["/eu/1", "/eu/2"],
        "topics": ["orders*"],
        "isolation": "",
        "upper_bound": "",
        "rescue": False,
        "metrics_folder": "",
        "openlineage": "",
        "audit": False,
    }
    audits = {dag_id: dag["defaults"]["audit"] for dag_id, dag in _writers(facts).items()}
    assert [dag_id for dag_id, does in audits.items() if does] == ["seglake_ingest"]


def test_the_page_for_the_person_who_is_woken_is_the_documentation(facts: Facts) -> None:
    page = (DAGS / "seglake_runbook.md").read_text("utf-8")
    for dag in facts["dags"].values():
        assert dag["doc"].endswith(page)
    assert (
        "lake `s3a://lakes/eu` from `/eu/1`, `/eu/2`" in facts["dags"]["seglake_ingest_eu"]["doc"]
    )


def test_rendered_arguments_are_understood_by_the_jobs(facts: Facts) -> None:
    for dag_id, dag in _writers(facts).items():
        for arguments in dag["tasks"]["audit"]["arguments"]:
            assert parser_of("audit").parse_args(arguments).source == []
        plain, topics, isolation = (
            parser_of("ingest").parse_args(each) for each in dag["tasks"]["ingest"]["arguments"]
        )
        assert plain.run_id == "manual__1"
        assert plain.json
        assert topics.source == ["/disk 1", "s3a://b/disk"]
        assert settings_of(topics).select.topics == ("orders*", "!orders-test")
        assert settings_of(isolation).read.isolation is Isolation.READ_UNCOMMITTED
        assert settings_of(isolation).read.upper_bound is UpperBound.LOG_END
        window = None
        if "backfill" in dag_id:
            window = ("2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00")
        for each in (plain, topics, isolation):
            assert (each.from_timestamp, each.to_timestamp) == (window or (None, None))


def test_what_cannot_run_fails_without_a_retry_and_says_why(facts: Facts) -> None:
    refusals = facts["refusals"]
    assert "this run has no data interval" in refusals["no interval"]
    assert "/nowhere has no pyspark in it" in refusals["no environment"]


def test_the_folder_may_lie_below_others_and_a_wrong_lakes_file_is_an_import_error(
    tmp_path: Path,
) -> None:
    require_airflow()
    shutil.copytree(DAGS, tmp_path / "dags" / "team" / "seglake")
    airflow = Airflow(tmp_path / "home", [{**_LAKES[0], "sauces": ["/disk"]}], tmp_path / "dags")
    airflow.prepare()
    errors = airflow.facts()["import_errors"]
    assert sorted(Path(name).name for name in errors) == _FILES
    assert "lake 1: no such key: sauces" in json.dumps(errors)
    airflow.lakes = _LAKES
    airflow.prepare()
    found = airflow.facts()
    assert found["import_errors"] == {}
    assert len(found["dags"]) == 6
