"""An operator that runs a seglake job with spark-submit and acts on the job's exit code."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from seglake_airflow import AirflowException, AirflowFailException
from seglake_outcome import ExitCode, Outcome, summary_of

# Any: Airflow's context, and values of JSON.
Context = Any


class SeglakeJob(SparkSubmitOperator):
    """`SparkSubmitOperator` that acts on the job's exit code.

    Exit codes 0 and 3 are success: the outcome becomes the task's XCom and part of the asset's
    event. Exit code 2 fails the task without a retry. Other codes fail the task as in
    SparkSubmitOperator, with the remaining retries.
    """

    def __init__(self, *, venv: str = "", fails_on_look: bool = False, **options: Any) -> None:
        """Store the options.

        Args:
            venv: seglake's virtual environment on the worker; "" if PATH and SPARK_HOME lead to it.
            fails_on_look: whether exit code 3 fails the task, without a retry.
            options: options of SparkSubmitOperator; `application_args` may be a function;
                `venv` replaces `env_vars`.
        """
        super().__init__(**options)
        self.venv = venv
        self.fails_on_look = fails_on_look
        self._summary: Mapping[str, Any] = {}

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job and return its outcome.

        Args:
            context: Airflow's context of the task.

        Raises:
            AirflowFailException: exit code 2, or 3 if `fails_on_look`.
        """
        if self.venv:
            self.env_vars = environment_of(Path(self.venv))
        exit_code = ExitCode.DONE
        try:
            super().execute(context)
        except AirflowException as error:
            exit_code = self._exit_code_of(error)
        outcome = Outcome(exit_code, self._summary)
        for line in outcome.look_at():
            self.log.warning("A person should look: %s", line)
        if exit_code is ExitCode.LOOK and self.fails_on_look:
            raise AirflowFailException(
                "exit code 3: done, but a person should check the findings in the log above. A "
                "retry would not change them."
            )
        for asset in self.outlets:
            context["outlet_events"][asset].extra = outcome.to_mapping()
        return outcome.to_mapping()

    def _exit_code_of(self, error: AirflowException) -> ExitCode:
        """Return the job's exit code if it needs no retry; else raise the error again.

        In client mode, spark-submit returns the job's exit code; in cluster mode, it only reports
        that the driver failed.
        """
        process = getattr(self._hook, "_submit_sp", None)
        code = None if process is None else process.returncode
        if code == ExitCode.LOOK:
            return ExitCode.LOOK
        if code == ExitCode.WRONG_CALL:
            raise AirflowFailException(
                "exit code 2: a wrong call or setting, nothing was touched; the end of the log "
                "above names it. A retry would end in the same way."
            ) from error
        raise error

    def _get_hook(self) -> Any:
        """Return the hook, patched to parse the job's output, which Airflow's hook only logs."""
        hook = super()._get_hook()
        log_lines = hook._process_spark_submit_log
        hook._process_spark_submit_log = lambda lines: log_lines(self._listening(lines))
        return hook

    def _listening(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._summary = summary_of(line.strip()) or self._summary
            yield line


def environment_of(venv: Path) -> dict[str, str]:
    """Return the variables that let spark-submit, the driver and local tasks run in a venv.

    Args:
        venv: the virtual environment on this worker.

    Raises:
        AirflowFailException: the environment has no Spark.
    """
    homes = sorted(venv.glob("lib/python3*/site-packages/pyspark"))
    if not homes:
        raise AirflowFailException(
            f"{venv} has no pyspark in it: `venv` in the lakes' file must name the virtual "
            "environment with seglake, by its path on this worker."
        )
    python = str(venv / "bin" / "python")
    path = os.pathsep.join([str(venv / "bin"), os.environ.get("PATH", os.defpath)])
    return {
        "PATH": path,
        "SPARK_HOME": str(homes[-1]),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
    }
