"""The DAGs and the recipes in the oldest Airflow that many run, and in the newest."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seglake.cli.arguments import parser_of
from support.other_versions import AIRFLOWS, ROOT, said, with_airflow
from support.servers.airflow_server import Airflow
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.slow, pytest.mark.timeout(3600)]

_SAMPLE = ROOT / "samples" / "broker-0"
_RECIPES = ROOT / "tests" / "support" / "servers" / "airflow_recipes.py"
_KUBERNETES = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}
_RECIPE_HAS = "from airflow.providers.amazon"
_ON_PATH = f"import json, sys\nsys.path.append({str(ROOT / 'airflow_dags')!r})\n"
_PRINTS = """
    made = EmrAddStepsOperator(task_id="again", job_flow_id="j-1", **emr_steps(lake, "ingest"))
[task, _] = made.dag.tasks
jar = task.steps[0]["HadoopJarStep"]["Jar"]
print(json.dumps([task.dag_id, task.task_id, task.job_flow_id, jar]))
"""
_OPERATORS = (
    "SparkSubmitOperator",
    "EmrAddStepsOperator",
    "DataprocSubmitJobOperator",
    "DatabricksSubmitRunOperator",
    "SparkKubernetesOperator",
    "KubernetesPodOperator",
)


@pytest.fixture(scope="module", params=AIRFLOWS)
def airflow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    folder = tmp_path_factory.mktemp("airflow")
    (folder / "kubernetes.json").write_text(json.dumps(_KUBERNETES), "utf-8")
    lake: dict[str, object] = {
        "lake": str(folder / "lake"),
        "sources": [str(_SAMPLE)],
        "audit": False,
    }
    variables = {
        "KUBECONFIG": str(folder / "kubernetes.json"),
        "AIRFLOW_CONN_KUBERNETES_DEFAULT": '{"conn_type": "kubernetes"}',
    }
    found = Airflow(folder, [lake], variables=variables, venv=with_airflow(request.param))
    found.prepare()
    found.run("db", "migrate")
    return found


def version_of(airflow: Airflow) -> str:
    return said(
        airflow.venv / "bin" / "python",
        "-c",
        "from importlib.metadata import version; print(version('apache-airflow'))",
    )


def test_the_dags_are_imported(airflow: Airflow, ran: Ran) -> None:
    facts = airflow.facts()
    assert (facts["import_errors"], facts["foreign"]) == ({}, [])
    assert sorted(facts["dags"]) == ["seglake_backfill", "seglake_ingest", "seglake_maintain"]
    backfill = facts["dags"]["seglake_backfill"]["tasks"]["ingest"]
    found = parser_of("ingest").parse_args(backfill["arguments"][0])
    assert (found.from_timestamp, found.run_id) == ("2026-11-01T00:00:00+00:00", "manual__1")
    assert "this run has no data interval" in facts["refusals"]["no interval"]
    python, command = airflow.venv / "bin" / "python", "airflow dags list-import-errors"
    ran.add_airflow(python, version_of(airflow), "the DAGs are imported", command)


def test_exit_code_three_is_committed_and_red(airflow: Airflow, ran: Ran) -> None:
    log = airflow.run("dags", "test", "seglake_ingest", is_checked=False)
    with closing(sqlite3.connect(airflow.sqlite)) as database:
        states = dict(database.execute("SELECT task_id, state FROM task_instance").fetchall())
    assert states == {"ingest": "success", "audit": "skipped", "needs_a_look": "failed"}, log
    assert "person should look at\n- limit crossed: limits.fail_on_quarantine" in log
    assert (airflow.folder / "lake" / "records" / "_delta_log").is_dir()
    python, command = Path(sys.executable), "airflow dags test seglake_ingest"
    ran.add(python, "a run of a DAG", command, airflow=version_of(airflow))


def test_every_recipe_is_what_its_operator_sends(airflow: Airflow, ran: Ran) -> None:
    made = airflow.asked(_RECIPES)
    for command, found in made.items():
        jobs = [words_of(name, found["sent"]) for name in _OPERATORS]
        for words in jobs:
            parsed = parser_of(command).parse_args(words)
            assert parsed.lake == "s3://lakes/eu"
            plain = [word for word in words if word != "--engine=local"]
            assert plain == [word for word in jobs[0] if word != "--engine=local"]
            if command != "audit":
                assert parsed.run_id == "manual__1"
        assert found["retries"] == [0] * len(_OPERATORS)
        assert set(found["pools"]) == {"default_pool" if command == "audit" else "seglake_eu_1"}
    sent = made["ingest"]["sent"]
    assert sent["EmrAddStepsOperator"][:2] == ["spark-submit", "--deploy-mode"]
    archives = {"spark.archives": "s3://b/env.tar.gz#environment"}
    assert sent["dataproc properties"] == archives
    [task] = sent["DatabricksSubmitRunOperator"]["tasks"]
    assert task["new_cluster"]["spark_conf"] == archives
    assert sent["SparkKubernetesOperator"]["spark"]["spec"]["sparkConf"] == archives
    python, what = airflow.venv / "bin" / "python", "the recipes of six operators"
    ran.add_airflow(python, version_of(airflow), what, "make test-versions")


def test_the_page_s_recipe_is_a_dag(airflow: Airflow, tmp_path: Path) -> None:
    if version_of(airflow).startswith("2."):
        airflow_names = ("airflow.sdk", "airflow")
    else:
        airflow_names = ("airflow.sdk", "airflow.sdk")
    page = (ROOT / "docs" / "airflow.md").read_text("utf-8")
    [block] = [each for each in page.split("```python\n") if _RECIPE_HAS in each]
    script = tmp_path / "recipe.py"
    script.write_text(_ON_PATH + block.partition("```")[0].replace(*airflow_names) + _PRINTS)
    assert airflow.asked(script) == ["seglake_emr", "ingest", "j-1", "command-runner.jar"]


# Any: what JSON holds.
def words_of(operator: str, sent: dict[str, Any]) -> list[str]:
    """The arguments of seglake in what an operator sends."""
    found = sent[operator]
    if operator == "DatabricksSubmitRunOperator":
        words = found["tasks"][0]["spark_python_task"]["parameters"]
    elif operator == "SparkKubernetesOperator":
        words = found["spark"]["spec"]["arguments"]
    elif operator == "KubernetesPodOperator":
        words = found["spec"]["containers"][0]["args"][1:]
    else:
        words = found[next(n for n, word in enumerate(found) if word.endswith(".py")) + 1 :]
    return [str(word) for word in words]
