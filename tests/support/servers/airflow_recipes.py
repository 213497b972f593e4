"""Runs in Airflow's own Python: what the real operators make of the recipes, as a line of JSON."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3] / "airflow_dags"))

COMMANDS = ("ingest", "audit", "maintain")

# Any: objects of Airflow and of the providers, which the environment of the tests does not have.


def main() -> None:
    """Make each operator from its recipe, render it as for a run, and print what it would send."""
    from seglake_airflow import DAG
    from seglake_lakes import Lake

    lake = Lake(
        name="eu_1",
        lake="s3://lakes/eu",
        sources=("s3://disks/eu",),
        jobs="s3://b/jobs",
        arguments=("--config=/etc/seglake.toml", "--openlineage=/tmp/events.json"),
        spark={"spark.archives": "s3://b/env.tar.gz#environment"},
    )
    found: dict[str, Any] = {}
    with DAG("recipes", schedule=None):
        for name in COMMANDS:
            tasks = _tasks(lake, name)
            found[name] = {
                "sent": _sent(*map(_rendered, tasks)),
                "retries": [task.retries for task in tasks],
                "pools": [task.pool for task in tasks],
            }
    sys.stdout.write(json.dumps(found) + "\n")


def _tasks(lake: Any, name: str) -> tuple[Any, ...]:
    """Make the operators of the six services for a command."""
    from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator
    from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator
    from airflow.providers.google.cloud.operators.dataproc import DataprocSubmitJobOperator

    import seglake_recipes as recipes

    cluster = {"spark_version": "16.4.x-scala2.12", "num_workers": 2}
    application = recipes.spark_application(
        lake, name, image="seglake:1", spark_version="4.2.0", executors=4
    )
    dataproc = {"region": "europe-west1", **recipes.dataproc_job(lake, name, cluster="c")}
    databricks = recipes.databricks_run(lake, name, cluster=cluster)
    pod = recipes.pod(lake, name, image="seglake:1")
    return (
        SparkSubmitOperator(task_id=f"submit_{name}", **recipes.spark_submit(lake, name)),
        EmrAddStepsOperator(
            task_id=f"emr_{name}", job_flow_id="j-1", **recipes.emr_steps(lake, name)
        ),
        DataprocSubmitJobOperator(task_id=f"dataproc_{name}", **dataproc),
        DatabricksSubmitRunOperator(task_id=f"databricks_{name}", **databricks),
        SparkKubernetesOperator(task_id=f"kubernetes_{name}", **application),
        KubernetesPodOperator(task_id=f"pod_{name}", **pod),
    )


def _rendered(task: Any) -> Any:
    context = {"run_id": "manual__1", "task_instance": None, "ti": None}
    task.render_template_fields(context, jinja_env=task.get_template_env())
    return task


def _sent(
    submit: Any, emr: Any, dataproc: Any, databricks: Any, kubernetes: Any, pod: Any
) -> dict[str, object]:
    """Return what each operator would send, checked by the service's own classes if it has any."""
    from botocore.session import Session
    from botocore.validate import validate_parameters
    from google.cloud.dataproc_v1.types import Job

    steps = Session().get_service_model("emr").operation_model("AddJobFlowSteps")
    validate_parameters({"JobFlowId": "j-1", "Steps": emr.steps}, steps.input_shape)
    job = Job(dataproc.job).pyspark_job
    return {
        "SparkSubmitOperator": [submit.application, *submit.application_args],
        "EmrAddStepsOperator": emr.steps[0]["HadoopJarStep"]["Args"],
        "DataprocSubmitJobOperator": [job.main_python_file_uri, *job.args],
        "dataproc properties": dict(job.properties),
        "DatabricksSubmitRunOperator": databricks.json,
        "SparkKubernetesOperator": kubernetes.manage_template_specs(),
        "KubernetesPodOperator": pod.build_pod_request_obj().to_dict(),
    }


if __name__ == "__main__":
    main()
