"""Operators of services get the arguments of the DAGs; tests/versions asks the real operators."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import seglake_recipes as recipes
from seglake.cli.arguments import parser_of
from seglake_arguments import job_arguments
from seglake_lakes import Lake, LakesFileError

LAKE = Lake(lake="s3://lakes/eu", sources=("s3://disks/eu",), jobs="s3://b/jobs", name="eu_1")
# Any: arguments of operators.
RECIPES: dict[str, Callable[[Lake, str], dict[str, Any]]] = {
    "spark_submit": recipes.spark_submit,
    "emr_steps": recipes.emr_steps,
    "dataproc_job": lambda lake, name: recipes.dataproc_job(lake, name, cluster="c"),
    "databricks_run": lambda lake, name: recipes.databricks_run(lake, name, cluster={}),
    "spark_application": lambda lake, name: recipes.spark_application(
        lake, name, image="seglake", spark_version="4.2.0", executors=2
    ),
    "pod": lambda lake, name: recipes.pod(lake, name, image="seglake"),
}


def texts_in(value: object) -> list[str]:
    """All texts of a recipe, in their order."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_in(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each)]
    return [value] if isinstance(value, str) else []


def test_arguments_keep_their_order_and_are_no_files_for_airflow() -> None:
    for command in ("ingest", "audit", "maintain"):
        found = [text.removesuffix("{{ '' }}") for text in recipes.arguments_of(LAKE, command)]
        assert found == job_arguments(command, LAKE, LAKE.params, run_label="{{ run_id }}")


def test_a_pod_of_the_latest_state_has_no_engine_to_choose() -> None:
    lake = replace(LAKE, latest=("orders",))
    made = recipes.pod(lake, "latest", image="seglake")["arguments"]
    [command, *arguments] = [text.removesuffix("{{ '' }}") for text in made]
    assert command == "latest"
    assert parser_of("latest").parse_args(arguments).topics == ["orders"]
    assert recipes.pod(lake, "ingest", image="seglake")["arguments"][1] == "--engine=local"


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("command", ["ingest", "audit", "deserialize", "latest", "maintain"])
def test_each_recipe_has_all_arguments_and_no_retry_that_would_hide_exit_code_three(
    name: str, command: str
) -> None:
    made = RECIPES[name](LAKE, command)
    wanted = recipes.arguments_of(LAKE, command)
    texts = texts_in(made)
    assert [text for text in texts if text in wanted] == wanted
    assert made["retries"] == 0
    assert made.get("pool") == (None if command == "audit" else "seglake_eu_1")


def test_no_argument_looks_to_airflow_like_a_file_of_templates() -> None:
    lake = replace(LAKE, arguments=("--openlineage=/x/events.json", "--config=/x/a.toml"))
    found = recipes.arguments_of(lake, "ingest")
    assert not [text for text in found if text.endswith(("json", "yaml", "yml"))]
    assert "--openlineage=/x/events.json{{ '' }}" in found
    assert "--config=/x/a.toml" in found


@pytest.mark.parametrize("name", ["dataproc_job", "databricks_run", "spark_application"])
def test_a_service_that_takes_no_properties_file_refuses_one(name: str) -> None:
    with pytest.raises(LakesFileError, match="this service takes no properties_file"):
        RECIPES[name](replace(LAKE, properties_file="/x.conf"), "ingest")
    made = RECIPES[name](replace(LAKE, spark={"spark.executor.memory": "4g"}), "ingest")
    assert "4g" in texts_in(made)


def test_properties_of_the_lake_win_over_those_of_the_cluster() -> None:
    lake = replace(LAKE, spark={"spark.a": "lake"})
    cluster = {"spark_conf": {"spark.a": "cluster", "spark.b": "kept"}, "num_workers": 2}
    [task] = recipes.databricks_run(lake, "ingest", cluster=cluster)["json"]["tasks"]
    properties = {"spark.a": "lake", "spark.b": "kept"}
    assert task["new_cluster"] == {"num_workers": 2, "spark_conf": properties}


def test_a_name_is_one_that_kubernetes_takes() -> None:
    assert RECIPES["pod"](replace(LAKE, name="EU_1.x"), "ingest")["name"] == "seglake-eu-1-x-ingest"


def test_spark_submit_of_the_worker_runs_the_python_of_the_environment() -> None:
    made = recipes.spark_submit(replace(LAKE, venv="/opt/venv"), "ingest")
    assert made["env_vars"]["PYSPARK_PYTHON"] == "/opt/venv/bin/python"
    assert recipes.spark_submit(LAKE, "ingest")["env_vars"] is None


def test_properties_are_options_of_emr_s_spark_submit() -> None:
    lake = replace(LAKE, spark={"spark.a": "b"}, properties_file="/etc/x.conf")
    [step] = recipes.emr_steps(lake, "ingest")["steps"]
    words = step["HadoopJarStep"]["Args"]
    before = words[: words.index("s3://b/jobs/ingest_segments.py")]
    assert before[-4:] == ["--properties-file", "/etc/x.conf", "--conf", "spark.a=b"]
