"""Keyword arguments with which operators of other Airflow providers run seglake's jobs.

This module imports neither Airflow nor its providers. Texts in double braces are Jinja templates:
an operator renders them when its task starts.
"""

from collections.abc import Mapping
from typing import Any

from seglake_arguments import job_arguments
from seglake_lakes import Lake, LakesFileError

_RUN = "{{ run_id }}"
# If an argument ends with a file extension, Airflow replaces it by the content of that file.
_FILE_ENDS = ("json", "json-tpl", "sql", "sh", "yaml", "yml")
_NO_FILE = "{{ '' }}"

# Any: arguments of operators.
Recipe = dict[str, Any]


def arguments_of(lake: Lake, command: str) -> list[str]:
    """Return a job's arguments as in the DAGs, with the run's id as a template.

    Args:
        lake: the lake, whose values are the params.
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
    """
    found = job_arguments(command, lake, lake.params, run_label=_RUN)
    return [f"{text}{_NO_FILE}" if text.endswith(_FILE_ENDS) else text for text in found]


def spark_submit(lake: Lake, command: str) -> Recipe:
    """Return arguments of SparkSubmitOperator; `spark-submit` must be on the worker's PATH."""
    python = f"{lake.venv}/bin/python"
    named = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    return {
        **_common(lake, command),
        **lake.submitted(command),
        "application_args": arguments_of(lake, command),
        "env_vars": named if lake.venv else None,
    }


def emr_steps(lake: Lake, command: str) -> Recipe:
    """Return arguments of EmrAddStepsOperator, all except the cluster (`job_flow_id`)."""
    options = ["spark-submit", "--deploy-mode", "cluster", "--name", _name(lake, command)]
    if lake.properties_file:
        options += ["--properties-file", lake.properties_file]
    for name, value in lake.spark.items():
        options += ["--conf", f"{name}={value}"]
    job = [lake.job(command), *arguments_of(lake, command)]
    step = {
        "Name": _name(lake, command),
        "ActionOnFailure": "CONTINUE",
        "HadoopJarStep": {"Jar": "command-runner.jar", "Args": [*options, *job]},
    }
    return {**_common(lake, command), "steps": [step], "wait_for_completion": True}


def dataproc_job(lake: Lake, command: str, *, cluster: str) -> Recipe:
    """Return arguments of DataprocSubmitJobOperator, all except `region` and `project_id`.

    Args:
        lake: the lake; its `jobs` is a folder that the cluster can read, such as
            `gs://bucket/jobs`.
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
        cluster: name of the cluster.
    """
    job = {
        "placement": {"cluster_name": cluster},
        "pyspark_job": {
            "main_python_file_uri": lake.job(command),
            "args": arguments_of(lake, command),
            "properties": _properties(lake),
        },
    }
    return {**_common(lake, command), "job": job}


def databricks_run(lake: Lake, command: str, *, cluster: Mapping[str, Any]) -> Recipe:
    """Return arguments of DatabricksSubmitRunOperator.

    Args:
        lake: the lake; its `jobs` is a folder that the cluster can read.
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
        cluster: the cluster, in the form of `new_cluster`; the lake's properties are added.
    """
    properties = {**cluster.get("spark_conf", {}), **_properties(lake)}
    task = {
        "task_key": command,
        "new_cluster": {**cluster, "spark_conf": properties},
        "spark_python_task": {
            "python_file": lake.job(command),
            "parameters": arguments_of(lake, command),
        },
    }
    run = {"run_name": _name(lake, command), "tasks": [task]}
    return {**_common(lake, command), "json": run}


def spark_application(
    lake: Lake, command: str, *, image: str, spark_version: str, executors: int
) -> Recipe:
    """Return arguments of SparkKubernetesOperator, for the Spark operator of Kubernetes.

    Args:
        lake: the lake; its `jobs` is a folder in the image, such as `local:///opt/seglake/jobs`.
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
        image: the image of `make image`, for driver and executors.
        spark_version: version of the image's Spark.
        executors: number of executors, each with one core.
    """
    size = {"cores": 1, "memory": "2g"}
    application = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": _dns_name(lake, command)},
        "spec": {
            "type": "Python",
            "pythonVersion": "3",
            "mode": "cluster",
            "image": image,
            "sparkVersion": spark_version,
            "mainApplicationFile": lake.job(command),
            "arguments": arguments_of(lake, command),
            "sparkConf": _properties(lake),
            "restartPolicy": {"type": "Never"},
            "driver": {**size, "serviceAccount": "spark"},
            "executor": {**size, "instances": executors},
        },
    }
    name = _dns_name(lake, command)
    return {**_common(lake, command), "name": name, "template_spec": {"spark": application}}


def pod(lake: Lake, command: str, *, image: str) -> Recipe:
    """Return arguments of KubernetesPodOperator: one pod, whose processes do all the work.

    Args:
        lake: the lake.
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
        image: the image of `make image`, whose entry point accepts the commands of seglake.
    """
    # `latest` has no option for the engine
    engine = [] if command == "latest" else ["--engine=local"]
    arguments = [command, *engine, *arguments_of(lake, command)]
    name = _dns_name(lake, command)
    return {**_common(lake, command), "name": name, "image": image, "arguments": arguments}


def _common(lake: Lake, command: str) -> Recipe:
    """Return the arguments that all recipes share.

    Retries are disabled, because a service only reports that a job failed, not its exit code. A
    retry after exit code 3 would find nothing new, and the task would turn green.
    """
    return {"retries": 0} if command == "audit" else {"retries": 0, "pool": lake.pool_name}


def _properties(lake: Lake) -> dict[str, str]:
    """Return Spark's properties for a service that cannot read a properties file."""
    if lake.properties_file:
        raise LakesFileError(
            "this service takes no properties_file: name its properties in `spark`"
        )
    return dict(lake.spark)


def _name(lake: Lake, command: str) -> str:
    return f"{lake.identity} {command}"


def _dns_name(lake: Lake, command: str) -> str:
    text = f"{lake.identity}-{command}".lower()
    return "".join(letter if letter.isalnum() else "-" for letter in text)
